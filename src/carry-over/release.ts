import type { Connection } from '#store/engine.ts'
import { column } from '#store/row.ts'
import { type Sql, sql } from '#store/sql.ts'

/** Last migrations of ledger, access, payments and x402 in 0.1.0. */
const LAST_MIGRATIONS = [106, 210, 305, 407] as const

/** True with exactly the migrations of 0.1.0. */
export async function isOfRelease(connection: Connection): Promise<boolean> {
  const found = await connection.run(sql`select id from migrations`)
  const ids = new Set(found.map((row) => column.integer(row, 'id')))
  return LAST_MIGRATIONS.every((id) => ids.has(id)) && Math.max(...ids) === 407
}

/** Tables whose columns differ in 0.1.0. */
export const OF_RELEASE: ReadonlyMap<string, Sql> = new Map([
  [
    'spend_days',
    sql`
      select spent.day, spent.account, spent.price_micro_usd,
        spent.calls + coalesce(balances.accruing_calls, 0) as calls, spent.returned,
        spent.micro_usd + coalesce(balances.accruing_calls * spent.price_micro_usd, 0) as micro_usd,
        spent.posted_micro_usd, spent.closings
      from spend_days as spent left join balances on balances.account = spent.account
        and balances.accruing_day = spent.day
        and balances.accruing_price_micro_usd = spent.price_micro_usd`,
  ],
  [
    'keys',
    sql`
      select public_id, secret_digest, wallet, label, created_unix, revoked_unix, successor, is_first,
        cast(null as text) as limits
      from keys`,
  ],
  // Rows `:short` hold what the batches could not grant.
  [
    'meters',
    sql`select meter, batch, day, 0 as given_up, 0 as previous from meters where meter not like '%:short'`,
  ],
])
