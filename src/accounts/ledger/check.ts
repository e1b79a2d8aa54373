import type { MicroUsd } from '#base/money.ts'
import type { Connection, Engine } from '#db/engine.ts'
import { column, type Sql, sql } from '#db/sql.ts'

export interface LedgerDifference {
  readonly subject: string
  readonly detail: string
}

export interface Check {
  readonly name: string
  run(connection: Connection): Promise<LedgerDifference[]>
}

export const DIFFERENCES_MAX = 100

/** The statement returns `subject`, `expected` and `found` as text, because broken figures may not be exact numbers. */
export function queryCheck(name: string, statement: Sql): Check {
  return {
    name,
    run: async (connection) => {
      const found = await connection.run(sql`
        select subject, cast(expected as text) as expected, cast(found as text) as found
        from (${statement}) as broken
        order by subject, found limit ${DIFFERENCES_MAX}`)
      return found.map((row) => ({
        subject: column.text(row, 'subject'),
        detail: `expected ${column.text(row, 'expected')}, found ${column.text(row, 'found')}`,
      }))
    },
  }
}

export const ledgerChecks: readonly Check[] = [
  queryCheck(
    'the postings of each entry sum to zero',
    sql`select entry_id as subject, 0 as expected, cast(sum(micro_usd) as bigint) as found
      from postings group by entry_id having sum(micro_usd) <> 0`,
  ),
  queryCheck(
    'a stored balance is the sum of its postings less what its calls cost',
    sql`select account as subject, cast(sum(expected) as bigint) as expected,
        cast(sum(found) as bigint) as found
      from (
        select account, 0 as expected, micro_usd as found from balances
        union all select account, micro_usd, 0 from postings
        union all select account, -micro_usd, 0 from spend_days
      ) as parts
      group by account having sum(expected) <> sum(found)`,
  ),
  queryCheck(
    'each account is of a known kind, on its side of zero',
    sql`select account as subject, 0 as expected, micro_usd as found from balances
      where not (account like 'key:%' or account like 'bucket:%') and not (
        micro_usd <= 0 and (account like 'chain_in:%' or account like 'receivable:%'))`,
  ),
]

/** Zero unless money was made or lost. Postings are of credits and moves, not of calls, so one statement reads all. */
export async function sumPostings(engine: Pick<Engine, 'read'>): Promise<MicroUsd> {
  const [row = {}] = await engine.read(sql`
    select cast(coalesce(sum(micro_usd), 0) as bigint) as micro_usd from postings`)
  return column.amount(row, 'micro_usd')
}
