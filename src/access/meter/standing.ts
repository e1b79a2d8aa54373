import type { MicroUsd } from '#domain/money.ts'
import { balancesOf } from '#ledger/balance.ts'
import type { Connection } from '#store/engine.ts'
import { column } from '#store/row.ts'
import { inNames, sql } from '#store/sql.ts'
import { toUsageDay, type UsageDay } from './usage-day.ts'

export interface Standing {
  /** By bucket; a bucket that has not called is absent. */
  readonly days: ReadonlyMap<string, UsageDay>
  /** By account; an account that was never posted to is absent. */
  readonly balances: ReadonlyMap<string, MicroUsd>
}

/** How some buckets and accounts stand, in one statement. */
export async function readStanding(
  connection: Connection,
  day: number,
  asked: { readonly buckets: readonly string[]; readonly accounts: readonly string[] },
): Promise<Standing> {
  const found = await connection.run(sql`
    select 1 as is_day, bucket as name, used, paid, 0 as micro_usd from usage_days
    where day = ${day} and bucket ${inNames(asked.buckets)}
    union all
    select 0, account, 0, 0, micro_usd from (${balancesOf(asked.accounts)}) as held`)
  const days = new Map<string, UsageDay>()
  const balances = new Map<string, MicroUsd>()
  for (const row of found)
    if (row.is_day === 1) days.set(column.text(row, 'name'), toUsageDay(row))
    else balances.set(column.text(row, 'name'), column.amount(row, 'micro_usd'))
  return { days, balances }
}
