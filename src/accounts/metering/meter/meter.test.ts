import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { ConnectionCut } from '#accounts/metering/meter/meter.ts'
import { DAY_SECONDS, nextMidnight } from '#base/time.ts'
import type { Engine } from '#db/engine.ts'
import { sql } from '#db/sql.ts'
import {
  anonymous,
  assertSound,
  count,
  fund,
  keyed,
  MIGRATIONS,
  many,
  meterOf,
  NOON,
  sources,
} from '#test/callers/meter-harness.ts'
import { startPostgres } from '#test/postgres.ts'
import { eachEngine, onSqlite } from '#test/store/each-engine.ts'

const onBoth = eachEngine(startPostgres, MIGRATIONS)

onBoth(
  'where the tier changes within a batch, no answer shows fewer units than are taken',
  async (store) => {
    for (const [before, after] of [
      [5, 7],
      [7, 5],
    ] as const) {
      const meter = meterOf(store.engine)
      const wallet = `a${after}`
      const callers = Array.from({ length: 8 }, (_, index) =>
        keyed(`key${after}`, index < 4 ? before : after, wallet),
      )
      const admissions = await Promise.all(callers.map((caller) => meter.admit(caller)))
      assert.equal(count(admissions, 'quota'), after)
      const units = admissions.flatMap(({ kind, rateLimit }) =>
        kind === 'admitted' ? [rateLimit.dailyQuota - rateLimit.remaining] : [],
      )
      assert.deepEqual(
        units,
        Array.from({ length: after }, (_, index) => index + 1),
      )
      for (const { rateLimit } of admissions) {
        assert.equal(rateLimit.dailyQuota, after)
        assert.equal(rateLimit.tier, after > 5 ? 'premium' : 'free')
      }
    }
  },
)

onBoth(
  'two hundred calls at one remaining unit, over two keys, admit exactly one',
  async (store) => {
    const meters = [meterOf(store.engine), meterOf(store.replica())]
    const meterAt = (index: number) => meters[index % 2] ?? meterOf(store.engine)
    await many(4, meterAt, () => keyed('00000001'))
    const admissions = await many(200, meterAt, (n) => keyed(n % 3 === 0 ? '00000001' : '00000002'))
    assert.equal(count(admissions, 'quota'), 1)
    assert.equal(count(admissions, 'exhausted'), 199)
    const rateLimit = await meterAt(0).rateLimit(keyed('00000002'))
    assert.deepEqual(
      [rateLimit.requestCount, rateLimit.overageCount, rateLimit.remaining],
      [5, 0, 0],
    )
  },
)

onBoth(
  'a race at the seam pays each call once: free, then prepaid, then exhausted',
  async (store) => {
    const meters = [meterOf(store.engine), meterOf(store.replica())]
    const meterAt = (index: number) => meters[index % 2] ?? meterOf(store.engine)
    await fund(store.engine, keyed('00000001'), 1_050n)
    const admissions = await many(120, meterAt, () => keyed('00000001'))
    assert.equal(count(admissions, 'quota'), 5)
    assert.equal(count(admissions, 'prepaid'), 10)
    assert.equal(count(admissions, 'exhausted'), 105)
    const rateLimit = await meterAt(1).rateLimit(keyed('00000001'))
    assert.equal(rateLimit.requestCount, 15)
    assert.equal(rateLimit.overageCount, 10)
    assert.equal(rateLimit.prepaidBalance, 50n)
    await assertSound(store.engine)
  },
)

onBoth('calls are decided in the order of arrival and each shows its own moment', async (store) => {
  const meter = meterOf(store.engine)
  await fund(store.engine, keyed('00000001'), 200n)
  const admissions = await many(
    8,
    () => meter,
    () => keyed('00000001'),
  )
  assert.deepEqual(sources(admissions), [
    ...Array.from({ length: 5 }, () => 'quota'),
    'prepaid',
    'prepaid',
    'exhausted',
  ])
  assert.deepEqual(
    admissions.map((each) => each.rateLimit.remaining),
    [4, 3, 2, 1, 0, 0, 0, 0],
  )
  assert.deepEqual(
    admissions.map((each) => each.rateLimit.requestCount),
    [1, 2, 3, 4, 5, 6, 7, 7],
  )
  assert.deepEqual(
    admissions.map((each) => each.rateLimit.overageCount),
    [0, 0, 0, 0, 0, 1, 2, 2],
  )
})

onBoth('the quota belongs to the wallet and the money to the key', async ({ engine }) => {
  const meter = meterOf(engine)
  await fund(engine, keyed('00000001'), 100n)
  await many(
    5,
    () => meter,
    () => keyed('00000002'),
  )
  assert.deepEqual(sources([await meter.admit(keyed('00000002'))]), ['exhausted'])
  assert.deepEqual(sources([await meter.admit(keyed('00000001'))]), ['prepaid'])
  assert.deepEqual(sources([await meter.admit(keyed('00000003', 5, 'bb'))]), ['quota'])
})

onBoth('midnight starts a new day', async (store) => {
  const now = { value: nextMidnight(NOON) - 1 }
  const meter = meterOf(store.engine, now)
  const [last] = await many(
    5,
    () => meter,
    () => keyed('00000001'),
  )
  assert.equal(last?.rateLimit.resetUnix, now.value + 1)
  now.value += 1
  const first = await meter.admit(keyed('00000001'))
  assert.equal(first.rateLimit.remaining, 4)
  assert.equal(first.rateLimit.resetUnix, now.value + DAY_SECONDS)
  now.value -= 1
  assert.equal((await meter.rateLimit(keyed('00000001'))).requestCount, 5)
})

onBoth(
  'a tier that falls mid-day lowers the quota and never makes the rest negative',
  async (store) => {
    const meter = meterOf(store.engine)
    await many(
      8,
      () => meter,
      () => keyed('00000001', 10),
    )
    const free = keyed('00000001', 5)
    const refused = await meter.admit(free)
    assert.equal(refused.kind, 'exhausted')
    assert.deepEqual([refused.rateLimit.remaining, refused.rateLimit.requestCount], [0, 8])
    const premium = await meter.admit(keyed('00000001', 10))
    assert.deepEqual([premium.kind, premium.rateLimit.remaining], ['admitted', 1])
  },
)

onBoth('reading the rate-limit state counts nothing and writes nothing', async ({ engine }) => {
  const writes: unknown[] = []
  const spied: Engine = {
    ...engine,
    write: (work) => {
      writes.push(work)
      return engine.write(work)
    },
  }
  const meter = meterOf(spied)
  const rateLimit = await meter.rateLimit(anonymous('192.0.2.7'))
  assert.deepEqual(rateLimit, {
    tier: 'anonymous',
    dailyQuota: 5,
    requestCount: 0,
    overageCount: 0,
    remaining: 5,
    resetUnix: nextMidnight(NOON),
    prepaidBalance: 0n,
  })
  assert.deepEqual(writes, [])
  assert.deepEqual(await engine.read(sql`select bucket from usage_days`), [])
})

test('a call that is cut before it joins a batch is not charged', async () => {
  await onSqlite(MIGRATIONS, async ({ engine }) => {
    const { promise: committing, resolve: commit } = Promise.withResolvers<void>()
    const slow: Engine = {
      ...engine,
      write: async (work) => {
        await committing
        return engine.write(work)
      },
    }
    const meter = meterOf(slow)
    const client = { isCut: false }
    const first = meter.admit(keyed('00000001'))
    for (let turn = 0; turn < 5; turn += 1) await setImmediate()
    const cut = assert.rejects(
      meter.admit(keyed('00000001'), () => client.isCut),
      ConnectionCut,
    )
    client.isCut = true
    commit()
    await Promise.all([first, cut])
    assert.equal((await meter.admit(keyed('00000001'))).rateLimit.requestCount, 2)
  })
})
