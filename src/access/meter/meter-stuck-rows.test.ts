import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { Client } from 'pg'
import { sleep } from '#lib/sleep.ts'
import { ConstraintError, type Engine, StoreError } from '#store/engine.ts'
import { openPostgres } from '#store/postgres/open-postgres.ts'
import { sql } from '#store/sql.ts'
import { startPostgres, type TestPostgres } from '#test/postgres.ts'
import { assertSound } from '../access-harness.ts'
import { type Admission, type Meter, MeteringUnavailable } from './admission.ts'
import { createMeter } from './meter.ts'
import { anonymous, MIGRATIONS, meterOf, NOON, PRICE } from './meter-harness.ts'

/** Short, so that a retry comes soon; the servers of this file are idle. */
const LOCK_TIMEOUT_MS = 300

/** What a step of these tests may take on a busy machine before it counts as stuck. */
const STUCK_MS = 20_000

/** By then a batch is on its way: it is taken at the end of the turn of the event loop in which it came. */
const SENT_MS = 100

const caller = (bucket: string) => anonymous(bucket, 500)

let server: TestPostgres
before(async () => {
  server = await startPostgres()
})
after(() => server.stop())

interface Stores {
  readonly url: string
  /** A lock that is held makes its statements fail. */
  readonly engine: Engine
  /** Its statements wait for a lock for ever. */
  readonly patient: Engine
}

const onPostgres = (guarantee: string, work: (stores: Stores) => Promise<void>) =>
  test(`PostgreSQL: ${guarantee}`, async () => {
    const url = await server.createDatabase()
    const engine = openPostgres({ url, schema: 'accounts', lockTimeoutMs: LOCK_TIMEOUT_MS })
    const patient = openPostgres({ url, schema: 'accounts' })
    try {
      await engine.migrate(MIGRATIONS)
      await work({ url, engine, patient })
      await assertSound(engine)
    } finally {
      await engine.close()
      await patient.close()
    }
  })

/**
 * Locks the row of a bucket's day until the returned function is called. Uses its own connection,
 * because the engine ends idle transactions.
 */
async function hold({ url }: Stores, bucket: string): Promise<() => Promise<void>> {
  const holder = new Client({ connectionString: url })
  await holder.connect()
  await holder.query('begin')
  await holder.query('update accounts.usage_days set used = used where bucket = $1', [bucket])
  let freed: Promise<void> | undefined
  return () => (freed ??= holder.query('commit').then(() => holder.end()))
}

/** The store says once that a commit failed which took place, after `meanwhile` was done. */
function loseCommit(engine: Engine, meanwhile: () => Promise<void>) {
  const next = { isLost: false }
  async function orLose<T>(write: Promise<T>): Promise<T> {
    const done = await write
    if (!next.isLost) return done
    next.isLost = false
    await meanwhile()
    throw new StoreError('the connection is lost at the commit')
  }
  const losing: Engine = {
    ...engine,
    write: (work) => orLose(engine.write(work)),
  }
  return { engine: losing, next }
}

async function within<T>(work: Promise<T>): Promise<T> {
  const late = new AbortController()
  const stuck = sleep(STUCK_MS, late.signal).then(() => Promise.reject(new Error('it is stuck')))
  try {
    return await Promise.race([work, stuck])
  } finally {
    stuck.catch(() => undefined)
    late.abort()
  }
}

async function untilUsed(meter: Meter, bucket: string, used: number): Promise<void> {
  const asked = async () => (await meter.figures(caller(bucket))).requestCount
  for (let n = 0; n < STUCK_MS / 50 && (await asked()) !== used; n += 1) await sleep(50)
  assert.equal(await asked(), used, bucket)
}

const receiptOf = (admission: Admission) => {
  assert.ok(admission.kind === 'admitted')
  return admission.receipt
}

onPostgres(
  'a row that is stuck fails its own batch, and the calls behind it are admitted',
  async (stores) => {
    const meter = meterOf(stores.engine)
    await meter.admit(caller('victim'))
    const release = await hold(stores, 'victim')
    const victim = assert.rejects(meter.admit(caller('victim')), MeteringUnavailable)
    await sleep(SENT_MS)
    for (const other of ['one', 'two', 'three'])
      assert.equal((await within(meter.admit(caller(other)))).kind, 'admitted')
    await victim
    await release()
    assert.equal((await within(meter.admit(caller('victim')))).kind, 'admitted')
    assert.equal((await meter.figures(caller('victim'))).requestCount, 2)
  },
)

onPostgres(
  'a row that is stuck after a commit whose answer was lost keeps no other caller out',
  async (stores) => {
    let free = async () => {}
    const lossy = loseCommit(stores.engine, async () => {
      free = await hold(stores, 'victim')
    })
    const meter = meterOf(lossy.engine)
    await meter.admit(caller('victim'))
    lossy.next.isLost = true
    await assert.rejects(meter.admit(caller('victim')))
    for (let n = 0; n < 5; n += 1)
      assert.equal((await meter.admit(caller(`other ${n}`))).kind, 'admitted')
    await free()
    await untilUsed(meter, 'victim', 1)
  },
)

onPostgres('a refund that waits for a row keeps no call waiting', async (stores) => {
  const meter = meterOf(stores.patient)
  const receipt = receiptOf(await meter.admit(caller('victim')))
  const free = await hold(stores, 'victim')
  try {
    const refund = meter.refund(receipt)
    await sleep(50)
    for (let n = 0; n < 5; n += 1)
      assert.equal((await within(meter.admit(caller('other')))).kind, 'admitted')
    await free()
    await refund
  } finally {
    await free()
  }
  await untilUsed(meter, 'victim', 0)
})

onPostgres('a refund that is stuck holds back no other refund', async (stores) => {
  const meter = meterOf(stores.engine)
  const buckets = ['victim', 'one', 'two']
  const admitted = await Promise.all(buckets.map((bucket) => meter.admit(caller(bucket))))
  const free = await hold(stores, 'victim')
  const refunds = admitted.map((admission) => meter.refund(receiptOf(admission)))
  await Promise.allSettled(refunds)
  for (const bucket of ['one', 'two']) await untilUsed(meter, bucket, 0)
  const later = receiptOf(await meter.admit(caller('three')))
  await meter.refund(later).catch(() => undefined)
  await untilUsed(meter, 'three', 0)
  assert.equal((await meter.figures(caller('victim'))).requestCount, 1)
  await free()
  await untilUsed(meter, 'victim', 0)
})

onPostgres('a receipt that the store refuses for good is left out', async ({ engine }) => {
  const tries = { refused: 0 }
  const counting: Engine = {
    ...engine,
    write: (work, onCommitted) =>
      engine.write(work, onCommitted).catch((error: unknown) => {
        if (error instanceof ConstraintError) tries.refused += 1
        throw error
      }),
  }
  const meter = meterOf(counting)
  const good = receiptOf(await meter.admit(caller('good')))
  const bad = receiptOf(await meter.admit(caller('bad')))
  await engine.write(async (tx) => {
    await tx.run(sql`
      update usage_days set used = 0, returned = returned + used where bucket = 'bad'`)
    await tx.run(sql`insert into refunds (receipt, day) values ('by hand', ${bad.day})`)
  })
  await Promise.allSettled([meter.refund(bad), meter.refund(good)])
  await untilUsed(meter, 'good', 0)
  for (let n = 0; n < 3; n += 1) {
    const next = receiptOf(await meter.admit(caller(`next ${n}`)))
    await meter.refund(next).catch(() => undefined)
    await untilUsed(meter, `next ${n}`, 0)
  }
  assert.equal(tries.refused, 2)
})

onPostgres('no call waits for connections that all others hold', async (stores) => {
  const { engine, patient } = stores
  const meter = createMeter({
    engine: patient,
    admissions: engine,
    clock: () => NOON * 1_000,
    pricePerCall: PRICE,
    name: 'own connections',
  })
  await meter.admit(caller('locked'))
  const free = await hold(stores, 'locked')
  const touch = sql`update usage_days set used = used where bucket = 'locked'`
  const most = patient.pool?.().connectionsMax ?? 0
  const others = Array.from({ length: most + 1 }, () => patient.write((tx) => tx.run(touch)))
  try {
    while (patient.pool?.().inUse !== most) await sleep(10)
    assert.equal((await within(meter.admit(caller('other')))).kind, 'admitted')
    assert.equal(patient.pool?.().inUse, most)
  } finally {
    await free()
    await Promise.all(others)
  }
})
