import type { MicroUsd } from '#domain/money.ts'
import { type Clock, DAY_SECONDS, HOUR_SECONDS, toDate, unixNow } from '#lib/time.ts'
import type { Engine, Row } from '#store/engine.ts'
import { column } from '#store/row.ts'
import { type Sql, sql } from '#store/sql.ts'
import { REVENUE } from './account.ts'
import { changeBalance, recordEntry } from './post.ts'

/** Charges of unknown commits are undone by then. */
export const CLOSE_AFTER_SECONDS = HOUR_SECONDS

const DAYS_PER_PAGE = 500

interface OpenDay {
  readonly account: string
  readonly day: number
  readonly price: MicroUsd
  readonly microUsd: MicroUsd
  readonly posted: MicroUsd
  readonly closings: number
}

/**
 * An entry `calls:<account>:<date>@<price>` per finished day; later changes add more. Returns their
 * number. Safe on several replicas. A day that cannot be closed stops no other; then it throws.
 */
export async function closeSpendDays(
  { engine, clock }: { readonly engine: Engine; readonly clock: Clock },
  signal?: AbortSignal,
): Promise<number> {
  const now = unixNow(clock)
  const lastDay = now - CLOSE_AFTER_SECONDS - DAY_SECONDS
  for (let closed = 0; ; ) {
    const rows = await engine.read(openDays(lastDay))
    const failures: unknown[] = []
    for (const row of rows)
      try {
        if (await closeDay(engine, toOpenDay(row), now)) closed += 1
      } catch (error) {
        failures.push(error)
      }
    if (failures.length > 0) throw new AggregateError(failures, 'some days could not be closed')
    if (rows.length < DAYS_PER_PAGE || signal?.aborted) return closed
  }
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

/** A partial index for each, which paid calls never touch. */
function openDays(lastDay: number): Sql {
  return sql`
    select account, day, price_micro_usd, micro_usd, posted_micro_usd, closings from spend_days
    where closings = 0 and micro_usd <> posted_micro_usd and day <= ${lastDay}
    union all
    select account, day, price_micro_usd, micro_usd, posted_micro_usd, closings from spend_days
    where closings > 0 and micro_usd <> posted_micro_usd and day <= ${lastDay}
    order by day, account, price_micro_usd limit ${DAYS_PER_PAGE}`
}

/** False if the day changed meanwhile; the next run closes it. */
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
