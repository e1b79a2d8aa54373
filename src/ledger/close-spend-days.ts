import type { MicroUsd } from '#domain/money.ts'
import { type Clock, DAY_SECONDS, HOUR_SECONDS, toDate, unixNow } from '#lib/time.ts'
import type { Engine, Row } from '#store/engine.ts'
import { column } from '#store/row.ts'
import { type Sql, sql } from '#store/sql.ts'
import { REVENUE } from './account.ts'
import { changeBalance, recordEntry } from './post.ts'

/** A day is closed this long after its end, when its last refunds have come in. */
const CLOSE_AFTER_SECONDS = HOUR_SECONDS

/** Account days of one call; a job that is called again soon needs no long run. */
const DAYS_PER_RUN_MAX = 500

interface OpenDay {
  readonly account: string
  readonly day: number
  readonly price: MicroUsd
  readonly microUsd: MicroUsd
  readonly posted: MicroUsd
  readonly closings: number
}

/**
 * Posts the spend of finished days: one entry `calls:<account>:<date>@<price>` from the account to
 * the revenue. What changes after that (a late refund) is posted by a further entry. Returns the number of
 * entries; safe to run on several replicas at once.
 */
export async function closeSpendDays(deps: {
  readonly engine: Engine
  readonly clock: Clock
}): Promise<number> {
  const { engine } = deps
  const now = unixNow(deps.clock)
  const lastDay = now - CLOSE_AFTER_SECONDS - DAY_SECONDS
  let closed = 0
  for (const row of await engine.read(openDays(lastDay)))
    if (await closeDay(engine, toOpenDay(row), now)) closed += 1
  return closed
}

function toOpenDay(row: Row): OpenDay {
  return {
    account: column.text(row, 'account'),
    day: column.integer(row, 'day'),
    price: column.amount(row, 'price_micro_usd'),
    microUsd: column.amount(row, 'micro_usd'),
    posted: column.amount(row, 'posted_micro_usd'),
    closings: column.integer(row, 'closings'),
  }
}

/**
 * Days that were never closed and days that changed since have an index each: while calls are paid, a row
 * enters neither and leaves neither.
 */
function openDays(lastDay: number): Sql {
  return sql`
    select account, day, price_micro_usd, micro_usd, posted_micro_usd, closings from spend_days
    where closings = 0 and micro_usd <> posted_micro_usd and day <= ${lastDay}
    union all
    select account, day, price_micro_usd, micro_usd, posted_micro_usd, closings from spend_days
    where closings > 0 and micro_usd <> posted_micro_usd and day <= ${lastDay}
    order by day, account, price_micro_usd limit ${DAYS_PER_RUN_MAX}`
}

/** False when the day changed since it was read: the next run closes it. */
function closeDay(engine: Engine, open: OpenDay, nowUnix: number): Promise<boolean> {
  const amount = open.microUsd - open.posted
  const name = `calls:${open.account}:${toDate(open.day)}@${open.price}`
  return engine.write(async (connection) => {
    const marked = await connection.run(sql`
      update spend_days set posted_micro_usd = ${open.microUsd}, closings = closings + 1
      where account = ${open.account} and day = ${open.day} and price_micro_usd = ${open.price}
        and micro_usd = ${open.microUsd} and closings = ${open.closings} returning account`)
    if (marked.length === 0) return false
    const earned = { account: REVENUE, microUsd: amount }
    await recordEntry(connection, {
      id: open.closings === 0 ? name : `${name}:${open.closings}`,
      kind: 'calls',
      reference: name,
      createdUnix: nowUnix,
      postings: [{ account: open.account, microUsd: -amount }, earned],
    })
    await changeBalance(connection, earned)
    return true
  })
}
