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
        from (${statement}) as broken`)
      return found.map((row) => ({
        subject: column.text(row, 'subject'),
        detail: `expected ${column.text(row, 'expected')}, found ${column.text(row, 'found')}`,
      }))
    },
  }
}

/** 2^53 - 1, the largest integer that a number holds exactly. */
const EXACT_MAX: Sql = sql`9007199254740991`

export const ledgerChecks: readonly Check[] = [
  queryCheck(
    'the postings of each entry sum to zero',
    sql`select entry_id as subject, 0 as expected, cast(sum(micro_usd) as bigint) as found
      from postings group by entry_id having sum(micro_usd) <> 0
      order by entry_id limit ${DIFFERENCES_MAX}`,
  ),
  queryCheck(
    'every entry has at least two postings',
    sql`select journal_entries.id as subject, 2 as expected, count(postings.line) as found
      from journal_entries left join postings on postings.entry_id = journal_entries.id
      group by journal_entries.id having count(postings.line) < 2
      order by journal_entries.id limit ${DIFFERENCES_MAX}`,
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
      group by account having sum(expected) <> sum(found)
      order by account limit ${DIFFERENCES_MAX}`,
  ),
  queryCheck(
    'each account is of a known kind, on its side of zero and guarded as its kind is',
    sql`select account as subject,
        case when account like 'key:%' or account like 'bucket:%' then 1 else 0 end as expected,
        prepaid as found
      from balances
      where case
        when account like 'key:%' or account like 'bucket:%' then prepaid <> 1
        when account like 'chain_in:%' or account like 'receivable:%'
          then prepaid <> 0 or micro_usd > 0
        else 1 = 1 end
      order by account limit ${DIFFERENCES_MAX}`,
  ),
  queryCheck(
    'every balance is exact as a number',
    sql`select account as subject, ${EXACT_MAX} as expected, micro_usd as found from balances
      where micro_usd > ${EXACT_MAX} or micro_usd < -${EXACT_MAX}
      order by account limit ${DIFFERENCES_MAX}`,
  ),
]

export interface LedgerSums {
  /** The sum of all postings; zero unless money was made or lost. */
  readonly postings: MicroUsd
  readonly negative: number
}

/** Rows are written by credits and moves, not by calls, so that one statement reads them all. */
export async function sumLedger(engine: Pick<Engine, 'read'>): Promise<LedgerSums> {
  const [row = {}] = await engine.read(sql`
    select cast((select coalesce(sum(micro_usd), 0) from postings) as bigint) as postings,
      (select count(*) from balances where prepaid = 1 and micro_usd < 0) as negative`)
  return { postings: column.amount(row, 'postings'), negative: column.integer(row, 'negative') }
}
