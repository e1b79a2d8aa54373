import { doEach } from '#lib/do-each.ts'
import type { Engine } from '#store/engine.ts'
import { column } from '#store/row.ts'
import { type Sql, sql } from '#store/sql.ts'

/**
 * What each account spent by day and price, to be read as a table: the columns of `spend_days`, with the
 * calls that accrue beside the balance.
 */
export const SPEND: Sql = sql`(
  select booked.account, booked.day, booked.price_micro_usd, booked.returned,
    booked.posted_micro_usd, booked.closings,
    booked.calls + coalesce(balances.accruing_calls, 0) as calls,
    booked.micro_usd + coalesce(balances.accruing_calls * booked.price_micro_usd, 0) as micro_usd
  from spend_days as booked left join balances on balances.account = booked.account
    and balances.accruing_day = booked.day
    and balances.accruing_price_micro_usd = booked.price_micro_usd)`

/** Set in a row of `balances`, brings what accrues beside it to its day; the database sees to that. */
export const ACCRUES_NOTHING: Sql = sql`
  accruing_day = 0, accruing_price_micro_usd = 0, accruing_calls = 0`

/** Accounts of one call; a job that is called again soon needs no long run. */
const ACCOUNTS_PER_RUN_MAX = 500

/**
 * Brings what accrues beside balances to the rows of its days, of days up to the given one. Each balance in a
 * transaction of its own: its owner waits for no other, and one that is stuck holds up none. AggregateError in
 * the end for those that could not be booked.
 */
export async function bookAccrued(engine: Engine, lastDay: number): Promise<void> {
  const found = await engine.read(sql`
    select account from spend_days where is_accruing = 1 and day <= ${lastDay}
    order by day, account limit ${ACCOUNTS_PER_RUN_MAX}`)
  const accounts = found.map((row) => column.text(row, 'account'))
  await doEach(
    accounts.map((account) => ({
      name: `booking the calls of ${account}`,
      run: async () => void (await engine.write((tx) => tx.run(bookingOf(account, lastDay)))),
    })),
  )
}

/** Unless a later day accrues meanwhile. */
function bookingOf(account: string, lastDay: number): Sql {
  return sql`
    update balances set ${ACCRUES_NOTHING}
    where account = ${account} and accruing_day <= ${lastDay}`
}
