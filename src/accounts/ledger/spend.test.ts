import assert from 'node:assert/strict'
import fc from 'fast-check'
import { chainInAccount, keyAccount, readBalances } from '#accounts/ledger/account.ts'
import { DAY_SECONDS, startOfDay } from '#base/time.ts'
import type { Engine } from '#db/engine.ts'
import { firstSchema } from '#db/migrate.ts'
import { column, sql } from '#db/sql.ts'
import { startPostgres } from '#test/postgres.ts'
import { eachEngine } from '#test/store/each-engine.ts'
import { ledgerChecks } from './check.ts'
import { ledgerTables } from './ledger-tables.ts'
import { post } from './post.ts'
import { spendCalls } from './spend.ts'

/** Random lives in every run of the tests; `RANDOM_RUNS=500` for a long search. A failure tells its seed. */
const numRuns = Number(process.env.RANDOM_RUNS ?? 12)

const TODAY = startOfDay(1_795_000_000)
const ACCOUNTS = ['0a1b2c3d', '77777777', 'ffffffff'].map(keyAccount)
const PRICES = [100n, 250n]
const GIVEN = 100_000n

const onBoth = eachEngine(startPostgres, firstSchema('accounts', ledgerTables))

interface Moment {
  readonly account: number
  /** Days since the first. */
  readonly day: number
  readonly price: number
  readonly calls: number
}

const moment: fc.Arbitrary<Moment> = fc.record({
  account: fc.nat({ max: ACCOUNTS.length - 1 }),
  day: fc.nat({ max: 2 }),
  price: fc.nat({ max: PRICES.length - 1 }),
  calls: fc.integer({ min: 1, max: 5 }),
})

/** Spends, and counts by account, day and price. */
async function take(engine: Engine, counted: Map<string, number>, each: Moment): Promise<void> {
  const account = ACCOUNTS[each.account] ?? ''
  const pricePerCall = PRICES[each.price] ?? 0n
  const day = TODAY + each.day * DAY_SECONDS
  const name = `${account} ${day} ${pricePerCall}`
  counted.set(name, (counted.get(name) ?? 0) + each.calls)
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

onBoth(
  'calls of days and prices in any order stand with their day, price and account, and cost their price',
  async ({ engine }) => {
    const counted = new Map<string, number>()
    let lives = 0
    const lived = fc.asyncProperty(fc.array(moment, { maxLength: 40 }), async (moments) => {
      lives += 1
      await fund(engine, lives)
      for (const each of moments) await take(engine, counted, each)
      assert.deepEqual(new Map([...(await readSpend(engine))].sort()), new Map([...counted].sort()))
      assert.deepEqual(await broken(engine), [])
    })
    await fc.assert(lived, { numRuns, endOnFailure: true })
    const cost = [...counted].reduce(
      (sum, [name, calls]) => sum + BigInt(name.split(' ')[2] ?? 0) * BigInt(calls),
      0n,
    )
    const balances = await engine.snapshot((reads) => readBalances(reads, ACCOUNTS))
    const left = ACCOUNTS.reduce((sum, account) => sum + (balances.get(account) ?? 0n), 0n)
    assert.equal(left + cost, GIVEN * BigInt(lives * ACCOUNTS.length))
  },
)
