import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { Client } from 'pg'
import type { Caller } from '#domain/caller.ts'
import { sleep } from '#lib/sleep.ts'
import { type Engine, LockTimeoutError, StoreError } from '#store/engine.ts'
import { openPostgres } from '#store/postgres/open-postgres.ts'
import { startPostgres, type TestPostgres } from '#test/postgres.ts'
import { assertSound } from '../access-harness.ts'
import { type Meter, MeteringUnavailable } from './admission.ts'
import { anonymous, fund, MIGRATIONS, meterOf, NOON } from './meter-harness.ts'

const LOCK_TIMEOUT_MS = 1_000

/** Three lock timeouts: enough that a caller who waits for the row stands out. */
const HELD_MS = 3_500

/** How soon others are counted once their first batch has failed, on a busy machine. */
const SOON_MS = 800

const caller = (bucket: string) => anonymous(bucket, 5_000)

let server: TestPostgres
before(async () => {
  server = await startPostgres()
})
after(() => server.stop())

const onPostgres = (
  guarantee: string,
  work: (store: { readonly url: string; readonly engine: Engine }) => Promise<void>,
) =>
  test(`PostgreSQL: ${guarantee}`, async () => {
    const url = await server.createDatabase()
    const engine = openPostgres({ url, schema: 'accounts', lockTimeoutMs: LOCK_TIMEOUT_MS })
    try {
      await engine.migrate(MIGRATIONS)
      await work({ url, engine })
      await assertSound(engine)
    } finally {
      await engine.close()
    }
  })

/** Locks rows as an open `psql` does, until the returned function is called. */
async function hold(url: string, rows: string): Promise<() => Promise<void>> {
  const holder = new Client({ connectionString: url })
  await holder.connect()
  await holder.query(`begin; select from accounts.${rows} for update`)
  return () => holder.query('commit').then(() => holder.end())
}

/** Calls one after another until it is told to stop; `waits` are of the calls that were admitted. */
function callAllTheTime(meter: Meter, who: Caller) {
  const seen = { waits: [] as number[], refused: 0, isOver: false }
  const run = async () => {
    while (!seen.isOver) {
      const start = performance.now()
      try {
        assert.equal((await meter.admit(who)).kind, 'admitted')
        seen.waits.push(performance.now() - start)
      } catch (error) {
        assert.ok(error instanceof MeteringUnavailable)
        seen.refused += 1
      }
    }
  }
  const ended = run()
  const stop = () => {
    seen.isOver = true
    return ended
  }
  return { who, seen, stop }
}

const paying = anonymous('192.0.2.9', 1)

for (const [what, victim, rows] of [
  ['usage', caller('192.0.2.1'), "usage_days where bucket = '192.0.2.1'"],
  ['balance', paying, "balances where account = 'bucket:192.0.2.9'"],
] as const)
  onPostgres(`a caller's held row of ${what} delays nobody else twice`, async ({ url, engine }) => {
    const meter = meterOf(engine)
    await fund(engine, victim, 1_000_000n)
    // The second call of the one with a unit a day is paid.
    for (let n = 0; n < 2; n += 1) await meter.admit(victim)
    const free = await hold(url, rows)
    const others = Array.from({ length: 12 }, (_, n) =>
      callAllTheTime(meter, caller(`198.51.100.${n}`)),
    )
    const held = callAllTheTime(meter, victim)
    await sleep(HELD_MS)
    for (const { stop } of others) await stop()
    assert.equal(held.seen.waits.length, 0)
    await free()
    await meter.admit(victim)
    await held.stop()
    assert.ok(held.seen.refused >= 2, `${held.seen.refused} refused`)
    for (const { who, seen } of others) {
      const [longest = 0, next = 0] = seen.waits.toSorted((a, b) => b - a)
      assert.equal(seen.refused, 0)
      assert.ok(longest < LOCK_TIMEOUT_MS + SOON_MS, `the first wait took ${longest} ms`)
      assert.ok(next < SOON_MS, `a later wait took ${next} ms`)
      assert.equal((await meter.figures(who)).requestCount, seen.waits.length)
    }
    assert.ok(others.every(({ seen }) => seen.waits.length > 20))
    assert.equal((await meter.figures(victim)).requestCount, held.seen.waits.length + 3)
  })

/** Counts the transactions that failed at a held row. */
function countingTimeouts(engine: Engine) {
  const timeouts = { count: 0 }
  const counting: Engine = {
    ...engine,
    write: (work, onCommitted) =>
      engine.write(work, onCommitted).catch((error: unknown) => {
        if (error instanceof LockTimeoutError) timeouts.count += 1
        throw error
      }),
  }
  return { counting, timeouts }
}

onPostgres('callers with held rows wait for a few attempts at most', async ({ url, engine }) => {
  const { counting, timeouts } = countingTimeouts(engine)
  const nowUnix = { value: NOON }
  const meter = meterOf(counting, nowUnix)
  const callers = Array.from({ length: 20 }, (_, n) => caller(`192.0.2.${n}`))
  await Promise.all(callers.map((each) => meter.admit(each)))
  const free = await hold(url, 'usage_days')
  const calls = callers.map((each) => assert.rejects(meter.admit(each), MeteringUnavailable))
  while (timeouts.count === 0) await sleep(10)
  // All of them wait for an attempt since now.
  nowUnix.value += 10
  assert.equal((await meter.admit(caller('198.51.100.1'))).kind, 'admitted')
  await Promise.all(calls)
  assert.equal(timeouts.count, 1 + 4)
  await free()
  const admitted = await Promise.all(callers.map((each) => meter.admit(each)))
  assert.ok(admitted.every(({ kind }) => kind === 'admitted'))
  for (const each of callers) assert.equal((await meter.figures(each)).requestCount, 2)
})

onPostgres('a call counted apart whose answer is lost is refunded', async ({ url, engine }) => {
  const { counting, timeouts } = countingTimeouts(engine)
  const next = { isLost: false }
  const losing: Engine = {
    ...counting,
    async write(work, onCommitted) {
      const done = await counting.write(work, onCommitted)
      if (!next.isLost) return done
      next.isLost = false
      throw new StoreError('the connection is lost at the commit')
    },
  }
  const meter = meterOf(losing)
  const victim = caller('192.0.2.1')
  await meter.admit(victim)
  const free = await hold(url, 'usage_days')
  const call = assert.rejects(meter.admit(victim), MeteringUnavailable)
  while (timeouts.count === 0) await sleep(10)
  next.isLost = true
  await free()
  await call
  assert.equal(next.isLost, false)
  const count = async () => (await meter.figures(victim)).requestCount
  for (let n = 0; n < 100 && (await count()) !== 1; n += 1) await sleep(50)
  assert.equal(await count(), 1)
  assert.equal((await meter.admit(victim)).kind, 'admitted')
})

onPostgres(
  'a locked table refuses figures, and delays nobody for longer',
  async ({ url, engine }) => {
    const meter = meterOf(engine)
    const holder = new Client({ connectionString: url })
    await holder.connect()
    await meter.admit(caller('10.0.1.0'))
    await holder.query('begin; lock table accounts.balances in access exclusive mode')
    const callers = ['10.0.1.1', '10.0.1.2', '10.0.1.3'].map((each) =>
      callAllTheTime(meter, anonymous(each, 1_000_000)),
    )
    try {
      const asked = performance.now()
      await assert.rejects(meter.figures(caller('10.0.1.1')), MeteringUnavailable)
      const waitedMs = performance.now() - asked
      assert.ok(waitedMs < HELD_MS, `the figures were refused after ${waitedMs} ms`)
      await sleep(HELD_MS)
    } finally {
      await Promise.all(callers.map(({ stop }) => stop()))
      await holder.query('commit')
      await holder.end()
    }
    for (const { seen } of callers) {
      const slow = seen.waits.filter((ms) => ms > SOON_MS)
      assert.ok(seen.waits.length > 10 * slow.length, `${slow.length} slow of ${seen.waits.length}`)
      assert.equal(seen.refused, 0)
    }
  },
)
