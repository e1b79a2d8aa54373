import assert from 'node:assert/strict'
import { DAY_SECONDS, startOfDay } from '#lib/day.ts'
import { ConstraintError, type Engine } from '#store/engine.ts'
import { type Sql, sql } from '#store/sql.ts'
import { startPostgres } from '#test/postgres.ts'
import { chainInAccount, keyAccount, REVENUE } from './account.ts'
import { readBalances } from './balance.ts'
import { closeSpendDays } from './close-spend-days.ts'
import { eachEngine } from './each-engine.ts'
import { ledgerChecks } from './ledger-checks.ts'
import { ledgerMigrations } from './ledger-migrations.ts'

const TODAY = startOfDay(1_795_000_000)
const KEY = keyAccount('0a1b2c3d')
const OTHER = keyAccount('ffffffff')
const CHAIN_IN = chainInAccount(8453)

/** Stores as they were before spend had a price. */
const onEarly = eachEngine(
  startPostgres,
  ledgerMigrations.filter((each) => each.id < 102),
)

async function broken(engine: Engine): Promise<string[]> {
  const names: string[] = []
  for (const check of ledgerChecks)
    if ((await engine.snapshot(check.run)).length > 0) names.push(check.name)
  return names
}

onEarly('money of the time before spend had a price comes over to the last unit', async (store) => {
  const { engine } = store
  await engine.write(async (tx) => {
    for (const statement of EARLY_STORE) await tx.run(statement)
  })
  await engine.migrate(ledgerMigrations)
  assert.deepEqual(await broken(engine), [])
  const rows = await engine.read(sql`
    select account, price_micro_usd, calls, returned, micro_usd, posted_micro_usd
    from spend_days order by account, day`)
  assert.deepEqual(
    rows.map((row) => ({ ...row })),
    [
      spendRow(KEY, { price: 100, calls: 3, spent: 300, posted: 300 }),
      spendRow(KEY, { price: 0, calls: 2, spent: 251, posted: 0 }),
      spendRow(OTHER, { price: 0, calls: 0, spent: 0, posted: 100 }),
    ],
  )
  for (const change of [sql`calls = calls + 1`, sql`micro_usd = micro_usd + 1`])
    await assert.rejects(
      engine.write((tx) => tx.run(sql`update spend_days set ${change} where price_micro_usd = 0`)),
      ConstraintError,
      'what a day without a price holds is what it held',
    )
  const deps = { engine, clock: () => (TODAY + 9 * DAY_SECONDS) * 1000 }
  assert.equal(await closeSpendDays(deps), 2)
  assert.equal(
    (await engine.snapshot((reads) => readBalances(reads, [REVENUE]))).get(REVENUE),
    551n,
  )
  assert.deepEqual(await broken(engine), [])
})

const spendRow = (
  account: string,
  row: Readonly<Record<'price' | 'calls' | 'spent' | 'posted', number>>,
) => ({
  account,
  price_micro_usd: row.price,
  calls: row.calls,
  returned: 0,
  micro_usd: row.spent,
  posted_micro_usd: row.posted,
})

/** A closed day, a day whose price changed, and a day that was given back after it was closed. */
const EARLY_STORE: readonly Sql[] = [
  sql`insert into journal_entries (id, kind, reference, created_unix) values
    ('a', 'credit', 'a', 1), ('b', 'credit', 'b', 1), ('calls:k', 'calls', 'k', 1),
    ('calls:o', 'calls', 'o', 1)`,
  sql`insert into postings (entry_id, line, account, micro_usd) values
    ('a', 0, ${CHAIN_IN}, -1000), ('a', 1, ${KEY}, 1000), ('b', 0, ${CHAIN_IN}, -500),
    ('b', 1, ${OTHER}, 500), ('calls:k', 0, ${KEY}, -300), ('calls:k', 1, ${REVENUE}, 300),
    ('calls:o', 0, ${OTHER}, -100), ('calls:o', 1, ${REVENUE}, 100)`,
  sql`insert into balances (account, prepaid, micro_usd) values
    (${CHAIN_IN}, 0, -1500), (${KEY}, 1, 449), (${OTHER}, 1, 500), (${REVENUE}, 0, 400)`,
  sql`insert into spend_days (account, day, calls, micro_usd, posted_micro_usd, closings) values
    (${KEY}, ${TODAY - DAY_SECONDS}, 3, 300, 300, 1), (${KEY}, ${TODAY}, 2, 251, 0, 0),
    (${OTHER}, ${TODAY}, 0, 0, 100, 1)`,
]
