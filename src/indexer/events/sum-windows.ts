import { DAY_SECONDS, HOUR_SECONDS } from '#lib/day.ts'
import type { Connection, Row } from '#store/engine.ts'
import { column } from '#store/row.ts'
import { sql } from '#store/sql.ts'
import { addSums, NOTHING, type Sums } from './event.ts'
import { readContribution } from './store-events.ts'
import { readSums } from './sums-row.ts'

/** Sums of one token on one chain. */
export interface TokenSums extends Sums {
  readonly token: string
  readonly chainId: number
}

/**
 * What happened after `asOf - seconds`, exactly, per token and chain: whole days and hours out of
 * the buckets and the events of the one broken hour at the edge, so the work does not grow with
 * history.
 */
export async function sumWindow(
  connection: Connection,
  input: {
    readonly dataset: string
    readonly asOfUnix: number
    readonly seconds: number
    /** Of this one alone. */
    readonly token?: string
  },
): Promise<readonly TokenSums[]> {
  const ofToken = input.token === undefined ? sql`` : sql`and token = ${input.token}`
  const start = input.asOfUnix - input.seconds + 1
  const firstHour = Math.ceil(start / HOUR_SECONDS) * HOUR_SECONDS
  const firstDay = Math.ceil(firstHour / DAY_SECONDS) * DAY_SECONDS
  const buckets = await connection.run(sql`
    select token, chain_id, amount, usd, events, priced from event_buckets
    where dataset = ${input.dataset} and grain = 'hour' ${ofToken}
      and bucket_unix >= ${firstHour} and bucket_unix < ${firstDay}
    union all
    select token, chain_id, amount, usd, events, priced from event_buckets
    where dataset = ${input.dataset} and grain = 'day' ${ofToken} and bucket_unix >= ${firstDay}`)
  const edge = await connection.run(sql`
    select chain_id, token, account, timestamp_unix, amount, usd from events
    where dataset = ${input.dataset} and counted = 1
      and timestamp_unix >= ${start} and timestamp_unix < ${firstHour}`)
  return addUp([
    ...buckets.map((row) => ({ ...labels(row), ...readSums(row) })),
    ...edge
      .filter((row) => input.token === undefined || labels(row).token === input.token)
      .map((row) => ({ ...labels(row), ...readContribution(row).sums })),
  ])
}

/** Everything since the beginning, per token and chain. */
export async function sumTotals(
  connection: Connection,
  dataset: string,
): Promise<readonly TokenSums[]> {
  const totals = await connection.run(sql`
    select token, chain_id, amount, usd, events, priced from event_buckets
    where dataset = ${dataset} and grain = 'total'
    order by token, chain_id`)
  return totals.map((row) => ({ ...labels(row), ...readSums(row) }))
}

/** Adds the sums that pass a test. */
export function totalOf(
  list: readonly TokenSums[],
  accept: (sums: TokenSums) => boolean = () => true,
): Sums {
  return list.filter(accept).reduce<Sums>(addSums, NOTHING)
}

/** Dollars of sums: null when there are events and none of them has a price. */
export function dollarsOf(sums: Sums): bigint | null {
  return sums.events > 0 && sums.priced === 0 ? null : sums.usd
}

function labels(row: Row) {
  return { token: column.text(row, 'token'), chainId: column.integer(row, 'chain_id') }
}

function addUp(list: readonly TokenSums[]): readonly TokenSums[] {
  const sums = new Map<string, TokenSums>()
  for (const each of list) {
    const id = `${each.token}|${each.chainId}`
    const before = sums.get(id)
    const { token, chainId } = each
    sums.set(id, before === undefined ? each : { token, chainId, ...addSums(before, each) })
  }
  return [...sums.values()]
}
