import assert from 'node:assert/strict'
import fc from 'fast-check'
import { DAY_SECONDS, startOfDay } from '#lib/time.ts'
import type { Engine } from '#store/engine.ts'
import { column } from '#store/row.ts'
import { sql } from '#store/sql.ts'
import { startPostgres } from '#test/postgres.ts'
import { eachEngine } from '#test/store/each-engine.ts'
import { chainInAccount, keyAccount, REVENUE } from './account.ts'
import { readBalances } from './balance.ts'
import { closeSpendDays } from './close-spend-days.ts'
import { ledgerChecks } from './ledger-checks.ts'
import { ledgerMigrations } from './ledger-migrations.ts'
import { post } from './post.ts'
import { spendCalls } from './spend.ts'

/** Random lives in every run of the tests; `RANDOM_RUNS=500` for a long search. A failure tells its seed. */
const numRuns = Number(process.env.RANDOM_RUNS ?? 12)

const TODAY = startOfDay(1_795_000_000)
const ACCOUNTS = ['0a1b2c3d', '77777777', 'ffffffff'].map(keyAccount)
const PRICES = [100n, 250n]
const GIVEN = 100_000n

const onBoth = eachEngine(startPostgres, ledgerMigrations)
interface Moment {
  readonly account: number
  /** Days since the first. */
  readonly day: number
  readonly price: number
}

type Step =
  | (Moment & { readonly does: 'spend'; readonly calls: number })
  | { readonly does: 'close'; readonly day: number }

const moment = {
  account: fc.nat({ max: ACCOUNTS.length - 1 }),
  day: fc.nat({ max: 2 }),
  price: fc.nat({ max: PRICES.length - 1 }),
}

const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record({
      ...moment,
      does: fc.constant('spend' as const),
      calls: fc.integer({ min: 1, max: 5 }),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ does: fc.constant('close' as const), day: fc.nat({ max: 4 }) }),
  },
)

const dayOf = (day: number) => TODAY + day * DAY_SECONDS
const close = (engine: Engine, day: number) =>
  closeSpendDays({ engine, clock: () => (dayOf(day) + 2 * 3_600) * 1000 })

/** Does a step, and counts what stands after it by account, day and price. */
async function take(engine: Engine, counted: Map<string, number>, each: Step): Promise<void> {
  if (each.does === 'close') return void (await close(engine, each.day))
  const account = ACCOUNTS[each.account] ?? ''
  const pricePerCall = PRICES[each.price] ?? 0n
  const day = dayOf(each.day)
  const name = `${account} ${day} ${pricePerCall}`
  const before = counted.get(name) ?? 0
  counted.set(name, before + each.calls)
  const input = { calls: new Map([[account, each.calls]]), pricePerCall, day }
  const spent = await engine.write((tx) => spendCalls(tx, input))
  assert.equal(spent.get(account)?.calls, each.calls)
}

async function readSpend(engine: Engine): Promise<Map<string, number>> {
  const found = await engine.read(sql`
    select account, day, price_micro_usd, calls from spend_days`)
  return new Map(
    found.map((row) => [
      `${column.text(row, 'account')} ${row.day} ${row.price_micro_usd}`,
      column.integer(row, 'calls'),
    ]),
  )
}

async function broken(engine: Engine): Promise<string[]> {
  const names: string[] = []
  for (const check of ledgerChecks)
    if ((await engine.snapshot(check.run)).length > 0) names.push(check.name)
  return names
}

/** Gives each account money for one more life. */
async function fund(engine: Engine, life: number): Promise<void> {
  for (const account of ACCOUNTS)
    await engine.write((tx) =>
      post(tx, {
        id: `${account} ${life}`,
        kind: 'credit',
        reference: account,
        createdUnix: TODAY,
        postings: [
          { account: chainInAccount(8453), microUsd: -GIVEN },
          { account, microUsd: GIVEN },
        ],
      }),
    )
}

const standing = (counted: Map<string, number>) =>
  new Map([...counted].filter(([, calls]) => calls > 0).sort())

onBoth(
  'calls of days and prices in any order stand with their day, price and account, before and after it is closed',
  async ({ engine }) => {
    const counted = new Map<string, number>()
    let lives = 0
    const lived = fc.asyncProperty(fc.array(step, { maxLength: 40 }), async (steps) => {
      lives += 1
      await fund(engine, lives)
      for (const each of steps) await take(engine, counted, each)
      assert.deepEqual(new Map([...(await readSpend(engine))].sort()), standing(counted))
      assert.deepEqual(await broken(engine), [])
    })
    await fc.assert(lived, { numRuns, endOnFailure: true })
    while ((await close(engine, 9)) > 0);
    const earned = [...counted].reduce(
      (sum, [name, calls]) => sum + BigInt(name.split(' ')[2] ?? 0) * BigInt(calls),
      0n,
    )
    const balances = await engine.snapshot((reads) => readBalances(reads, [REVENUE, ...ACCOUNTS]))
    assert.equal(balances.get(REVENUE) ?? 0n, earned)
    const left = ACCOUNTS.reduce((sum, account) => sum + (balances.get(account) ?? 0n), 0n)
    assert.equal(left + earned, GIVEN * BigInt(lives * ACCOUNTS.length))
    assert.deepEqual(new Map([...(await readSpend(engine))].sort()), standing(counted))
    assert.deepEqual(await broken(engine), [])
  },
)
