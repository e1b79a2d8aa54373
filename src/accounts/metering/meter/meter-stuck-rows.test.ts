import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { Client } from 'pg'
import { getMeter, MeteringUnavailable } from '#accounts/metering/meter/meter.ts'
import { sleep } from '#base/async.ts'
import type { Engine } from '#db/engine.ts'
import { openPostgres } from '#db/postgres/open-postgres.ts'
import { sql } from '#db/sql.ts'
import { assertSound } from '#test/callers/callers-harness.ts'
import { anonymous, MIGRATIONS, NOON } from '#test/callers/meter-harness.ts'
import { startPostgres, type TestPostgres } from '#test/postgres.ts'
import { testContext } from '#test/test-context.ts'

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
  const holder = new Client({ connectionString: url, application_name: 'stuck by a test' })
  await holder.connect()
  await holder.query('begin')
  await holder.query('update accounts.usage_days set used = used where bucket = $1', [bucket])
  let freed: Promise<void> | undefined
  return () => (freed ??= holder.query('commit').then(() => holder.end()))
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

onPostgres('a row that another session holds fails the calls of its batch', async (stores) => {
  const meter = getMeter(testContext({ accounts: stores.engine, clock: () => NOON * 1_000 }))
  await meter.admit(caller('victim'))
  const release = await hold(stores, 'victim')
  const victim = assert.rejects(meter.admit(caller('victim')), MeteringUnavailable)
  await sleep(SENT_MS)
  const others = ['one', 'two', 'three'].map((other) => meter.admit(caller(other)))
  await victim
  for (const each of others) assert.equal((await within(each)).kind, 'admitted')
  await release()
  assert.equal((await within(meter.admit(caller('victim')))).kind, 'admitted')
  assert.equal((await meter.rateLimit(caller('victim'))).requestCount, 2)
})

onPostgres('no call waits for connections that all others hold', async (stores) => {
  const { engine, patient } = stores
  const clock = () => NOON * 1_000
  const meter = getMeter(testContext({ accounts: patient, admissions: engine, clock }))
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
