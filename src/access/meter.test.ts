import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import type { Caller } from '#domain/caller.ts'
import { chainInAccount } from '#ledger/account.ts'
import { eachEngine, onSqlite } from '#ledger/each-engine.ts'
import { ledgerChecks } from '#ledger/ledger-checks.ts'
import { ledgerMigrations } from '#ledger/ledger-migrations.ts'
import { post } from '#ledger/post.ts'
import { DAY_SECONDS, nextMidnight, startOfDay } from '#lib/day.ts'
import { type Engine, StoreError } from '#store/engine.ts'
import { sql } from '#store/sql.ts'
import { startPostgres } from '#test/postgres.ts'
import { accessMigrations } from './access-migrations.ts'
import { type Admission, type Meter, MeteringUnavailable } from './admission.ts'
import { createMeter } from './meter.ts'
import { accountOf } from './tally.ts'

const NOON = startOfDay(1_795_000_000) + DAY_SECONDS / 2
const PRICE = 100n
const MIGRATIONS = [...ledgerMigrations, ...accessMigrations]
const onBoth = eachEngine(startPostgres, MIGRATIONS)

const anonymous = (bucket: string, dailyQuota = 5): Caller => ({
  kind: 'anonymous',
  identity: `ip:${bucket}`,
  bucket,
  tier: 'anonymous',
  dailyQuota,
})

const keyed = (publicId: string, dailyQuota = 5, wallet = 'aa'): Caller => ({
  kind: 'keyed',
  identity: `key:svc_${publicId}`,
  bucket: `wallet:0x${wallet.repeat(20)}`,
  tier: dailyQuota > 5 ? 'premium' : 'free',
  dailyQuota,
  publicId,
  wallet: `0x${wallet.repeat(20)}`,
})

let meters = 0
function meterOf(engine: Engine, nowUnix = { value: NOON }): Meter {
  meters += 1
  const name = `meter ${meters}`
  return createMeter({ engine, clock: () => nowUnix.value * 1000, pricePerCall: PRICE, name })
}

let entries = 0
async function fund(engine: Engine, caller: Caller, microUsd: bigint): Promise<void> {
  entries += 1
  const id = `fund:${entries}`
  const postings = [
    { account: chainInAccount(8453), microUsd: -microUsd },
    { account: accountOf(caller), microUsd },
  ]
  await engine.write((tx) =>
    post(tx, { id, kind: 'credit', reference: id, createdUnix: NOON, postings }),
  )
}

const many = (n: number, meterAt: (index: number) => Meter, callerAt: (index: number) => Caller) =>
  Promise.all(Array.from({ length: n }, (_, index) => meterAt(index).admit(callerAt(index))))

const sources = (admissions: readonly Admission[]) =>
  admissions.map((each) => (each.kind === 'admitted' ? each.source : each.kind))

const count = (admissions: readonly Admission[], source: string) =>
  sources(admissions).filter((each) => each === source).length

async function assertSound(engine: Engine): Promise<void> {
  for (const check of ledgerChecks)
    assert.deepEqual(await engine.snapshot(check.run), [], check.name)
}

onBoth(
  'where the tier changes within a batch, no answer shows fewer units than are taken',
  async (store) => {
    for (const [before, after] of [
      [5, 9],
      [9, 5],
    ] as const) {
      const meter = meterOf(store.engine)
      const wallet = `a${after}`
      const callers = Array.from({ length: 12 }, (_, index) =>
        keyed(`key${after}`, index < 6 ? before : after, wallet),
      )
      const admissions = await Promise.all(callers.map((caller) => meter.admit(caller)))
      assert.equal(count(admissions, 'quota'), after)
      const units = admissions.flatMap(({ kind, figures }) =>
        kind === 'admitted' ? [figures.dailyQuota - figures.remaining] : [],
      )
      assert.deepEqual(
        units,
        Array.from({ length: after }, (_, index) => index + 1),
      )
      for (const { figures } of admissions) {
        assert.equal(figures.dailyQuota, after)
        assert.equal(figures.tier, after > 5 ? 'premium' : 'free')
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
    const figures = await meterAt(0).figures(keyed('00000002'))
    assert.deepEqual([figures.requestCount, figures.overageCount, figures.remaining], [5, 0, 0])
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
    const figures = await meterAt(1).figures(keyed('00000001'))
    assert.equal(figures.requestCount, 15)
    assert.equal(figures.overageCount, 10)
    assert.equal(figures.prepaidBalance, 50n)
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
    admissions.map((each) => each.figures.remaining),
    [4, 3, 2, 1, 0, 0, 0, 0],
  )
  assert.deepEqual(
    admissions.map((each) => each.figures.requestCount),
    [1, 2, 3, 4, 5, 6, 7, 7],
  )
  assert.deepEqual(
    admissions.map((each) => each.figures.overageCount),
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

onBoth('an anonymous bucket pays from a balance of its own', async ({ engine }) => {
  const meter = meterOf(engine)
  const caller = anonymous('2001:db8:1:2::/64')
  await fund(engine, caller, 100n)
  const admissions = await many(
    7,
    () => meter,
    () => caller,
  )
  assert.deepEqual(sources(admissions).slice(5), ['prepaid', 'exhausted'])
  assert.deepEqual(sources([await meter.admit(anonymous('192.0.2.1'))]), ['quota'])
})

onBoth('a refund gives back exactly what was taken, once', async ({ engine }) => {
  const meter = meterOf(engine)
  await fund(engine, keyed('00000001'), 300n)
  const admissions = await many(
    7,
    () => meter,
    () => keyed('00000001'),
  )
  const [first, last] = [admissions[0], admissions[6]]
  assert.ok(first?.kind === 'admitted' && last?.kind === 'admitted')
  await Promise.all([meter.refund(first.receipt), meter.refund(last.receipt)])
  await meter.refund(last.receipt)
  const figures = await meter.figures(keyed('00000001'))
  assert.deepEqual(
    [figures.requestCount, figures.overageCount, figures.remaining, figures.prepaidBalance],
    [5, 1, 1, 200n],
  )
  await assertSound(engine)
})

onBoth(
  'midnight starts a new day, and a refund reaches the day it was charged to',
  async (store) => {
    const now = { value: nextMidnight(NOON) - 1 }
    const meter = meterOf(store.engine, now)
    const [last] = await many(
      5,
      () => meter,
      () => keyed('00000001'),
    )
    assert.ok(last?.kind === 'admitted')
    assert.equal(last.figures.resetUnix, now.value + 1)
    now.value += 1
    const first = await meter.admit(keyed('00000001'))
    assert.equal(first.figures.remaining, 4)
    assert.equal(first.figures.resetUnix, now.value + DAY_SECONDS)
    await meter.refund(last.receipt)
    assert.equal((await meter.figures(keyed('00000001'))).requestCount, 1)
    now.value -= 1
    assert.equal((await meter.figures(keyed('00000001'))).requestCount, 4)
  },
)

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
    assert.deepEqual([refused.figures.remaining, refused.figures.requestCount], [0, 8])
    const premium = await meter.admit(keyed('00000001', 10))
    assert.deepEqual([premium.kind, premium.figures.remaining], ['admitted', 1])
  },
)

onBoth('asking for figures counts nothing and writes nothing', async ({ engine }) => {
  const writes: unknown[] = []
  const spied: Engine = {
    ...engine,
    write: (work) => {
      writes.push(work)
      return engine.write(work)
    },
  }
  const meter = meterOf(spied)
  const figures = await meter.figures(anonymous('192.0.2.7'))
  assert.deepEqual(figures, {
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

onBoth('paid calls of a wallet equal the debits of its keys', async ({ engine }) => {
  const meter = meterOf(engine)
  await fund(engine, keyed('00000001'), 500n)
  await fund(engine, keyed('00000002'), 700n)
  await many(
    40,
    () => meter,
    (n) => keyed(n % 2 === 0 ? '00000001' : '00000002'),
  )
  const [usage] = await engine.read(sql`select paid from usage_days`)
  const [spend] = await engine.read(sql`select cast(sum(calls) as bigint) as calls from spend_days`)
  assert.deepEqual([usage?.paid, spend?.calls], [12, 12])
  await assertSound(engine)
})

test('a store that fails admits nobody, and every waiter learns it', async () => {
  await onSqlite(MIGRATIONS, async ({ engine }) => {
    const broken: Engine = { ...engine, write: () => Promise.reject(new StoreError('gone')) }
    const meter = meterOf(broken)
    const outcomes = await Promise.allSettled([
      meter.admit(keyed('00000001')),
      meter.admit(anonymous('192.0.2.1')),
    ])
    for (const outcome of outcomes)
      assert.ok(outcome.status === 'rejected' && outcome.reason instanceof MeteringUnavailable)
  })
})

test('a commit whose outcome is unknown counts as not admitted', async () => {
  await onSqlite(MIGRATIONS, async ({ engine }) => {
    const cut: Engine = {
      ...engine,
      write: async (work) => {
        await engine.write(work)
        throw new StoreError('connection cut during commit')
      },
    }
    await assert.rejects(meterOf(cut).admit(keyed('00000001')), MeteringUnavailable)
    const after = await meterOf(engine).figures(keyed('00000001'))
    assert.ok(after.requestCount <= after.dailyQuota)
  })
})

type Step =
  | { readonly do: 'calls'; readonly callers: readonly number[] }
  | { readonly do: 'fund'; readonly caller: number; readonly microUsd: bigint }
  | { readonly do: 'refund' }
  | { readonly do: 'day' }

const CALLERS = [keyed('00000001', 3), keyed('00000002', 3), anonymous('192.0.2.1', 2)]

const steps = fc.array(
  fc.oneof(
    fc.record({
      do: fc.constant('calls' as const),
      callers: fc.array(fc.nat(CALLERS.length - 1), { minLength: 1, maxLength: 8 }),
    }),
    fc.record({
      do: fc.constant('fund' as const),
      caller: fc.nat(CALLERS.length - 1),
      microUsd: fc.bigInt({ min: 1n, max: 450n }),
    }),
    fc.record({ do: fc.constant('refund' as const) }),
    fc.record({ do: fc.constant('day' as const) }),
  ),
  { maxLength: 14 },
)

/** The meter as one would write it for one caller at a time, in memory. */
class Model {
  day = 0
  readonly used = new Map<string, number>()
  readonly paid = new Map<string, number>()
  readonly balances = new Map<string, bigint>()

  admit(caller: Caller): string {
    const bucket = `${this.day}:${caller.bucket}`
    const used = this.used.get(bucket) ?? 0
    const balance = this.balances.get(accountOf(caller)) ?? 0n
    if (used < caller.dailyQuota) {
      this.used.set(bucket, used + 1)
      return 'quota'
    }
    if (balance < PRICE) return 'exhausted'
    this.balances.set(accountOf(caller), balance - PRICE)
    this.paid.set(bucket, (this.paid.get(bucket) ?? 0) + 1)
    return 'prepaid'
  }

  refund(bucket: string, account: string | null): void {
    const counts = account === null ? this.used : this.paid
    counts.set(bucket, (counts.get(bucket) ?? 0) - 1)
    if (account !== null) this.balances.set(account, (this.balances.get(account) ?? 0n) + PRICE)
  }
}

async function runAgainstModel(engine: Engine, list: readonly Step[]): Promise<void> {
  const model = new Model()
  const now = { value: NOON }
  const meter = meterOf(engine, now)
  const admitted: (Extract<Admission, { kind: 'admitted' }> & { bucket: string })[] = []
  for (const step of list) {
    if (step.do === 'day') {
      model.day += 1
      now.value += DAY_SECONDS
    } else if (step.do === 'fund') {
      const caller = CALLERS[step.caller] ?? keyed('00000001')
      await fund(engine, caller, step.microUsd)
      const account = accountOf(caller)
      model.balances.set(account, (model.balances.get(account) ?? 0n) + step.microUsd)
    } else if (step.do === 'refund') {
      const last = admitted.pop()
      if (last === undefined) continue
      await meter.refund(last.receipt)
      model.refund(last.bucket, last.receipt.account)
    } else {
      const callers = step.callers.map((index) => CALLERS[index] ?? keyed('00000001'))
      const admissions = await Promise.all(callers.map((caller) => meter.admit(caller)))
      assert.deepEqual(
        sources(admissions),
        callers.map((caller) => model.admit(caller)),
      )
      for (const each of admissions)
        if (each.kind === 'admitted')
          admitted.push({ ...each, bucket: `${model.day}:${each.receipt.bucket}` })
    }
  }
  for (const caller of CALLERS) {
    const bucket = `${model.day}:${caller.bucket}`
    const figures = await meter.figures(caller)
    const paid = model.paid.get(bucket) ?? 0
    assert.equal(figures.overageCount, paid)
    assert.equal(figures.requestCount, (model.used.get(bucket) ?? 0) + paid)
    assert.equal(figures.prepaidBalance, model.balances.get(accountOf(caller)) ?? 0n)
  }
  await assertSound(engine)
}

test('ledger and meter agree with a simple model, whatever happens in whatever order', async () => {
  const property = fc.asyncProperty(steps, (list) =>
    onSqlite(MIGRATIONS, ({ engine }) => runAgainstModel(engine, list)),
  )
  await fc.assert(property, { numRuns: 120 })
})
