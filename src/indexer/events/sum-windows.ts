import { DAY_SECONDS, HOUR_SECONDS } from '#lib/day.ts'
import type { Connection, Row } from '#store/engine.ts'
import { column } from '#store/row.ts'
import { join, sql } from '#store/sql.ts'
import { addSums, NOTHING, type Sums } from './event.ts'
import { readContribution } from './store-events.ts'
import { readSums } from './sums-row.ts'

/** Sums of one token on one chain. */
export interface TokenSums extends Sums {
  readonly token: string
  readonly chainId: number
}

/**
 * What happened after `asOf - seconds`, exactly, per token and chain, for several lengths: whole days and
 * hours out of the buckets and the events of the one broken hour at each edge, so that the work does not
 * grow with history. Days that windows share are read once.
 */
export async function sumWindows(
  connection: Connection,
  input: {
    readonly dataset: string
    readonly asOfUnix: number
    readonly seconds: readonly number[]
    /** Of this one alone. */
    readonly token?: string
  },
): Promise<readonly (readonly TokenSums[])[]> {
  const { dataset, token } = input
  const ofToken = token === undefined ? sql`` : sql`and token = ${token}`
  const edges = input.seconds.map((seconds) => edgeOf(input.asOfUnix - seconds + 1))
  const hours = edges.map(
    ({ firstHour, firstDay }, place) => sql`
      select cast(${place} as integer) as place, bucket_unix, token, chain_id, amount, usd, events, priced
      from event_buckets
      where dataset = ${dataset} and grain = 'hour' ${ofToken}
        and bucket_unix >= ${firstHour} and bucket_unix < ${firstDay}`,
  )
  const earliestDay = Math.min(...edges.map(({ firstDay }) => firstDay))
  const buckets = await connection.run(sql`
    ${join(hours, ' union all ')}
    union all
    select cast(${DAYS} as integer) as place, bucket_unix, token, chain_id, amount, usd, events, priced
    from event_buckets
    where dataset = ${dataset} and grain = 'day' ${ofToken} and bucket_unix >= ${earliestDay}`)
  const broken = edges.map(
    ({ start, firstHour }, place) => sql`
      select cast(${place} as integer) as place, chain_id, token, account, timestamp_unix, amount, usd from events
      where dataset = ${dataset} and counted = 1
        and timestamp_unix >= ${start} and timestamp_unix < ${firstHour}`,
  )
  const events = await connection.run(join(broken, ' union all '))
  const whole = buckets.map((row) => ({
    place: column.integer(row, 'place'),
    bucketUnix: column.integer(row, 'bucket_unix'),
    sums: { ...labels(row), ...readSums(row) },
  }))
  const single = events
    .map((row) => ({
      place: column.integer(row, 'place'),
      sums: { ...labels(row), ...readContribution(row).sums },
    }))
    .filter(({ sums }) => token === undefined || sums.token === token)
  return edges.map(({ firstDay }, place) =>
    addUp([
      ...whole.filter((each) =>
        each.place === DAYS ? each.bucketUnix >= firstDay : each.place === place,
      ),
      ...single.filter((each) => each.place === place),
    ]),
  )
}

/** Days belong to every window that reaches back to them. */
const DAYS = -1

/** Where a window that begins at a second has its first whole hour, and its first whole day. */
function edgeOf(start: number) {
  const firstHour = Math.ceil(start / HOUR_SECONDS) * HOUR_SECONDS
  const firstDay = Math.ceil(firstHour / DAY_SECONDS) * DAY_SECONDS
  return { start, firstHour, firstDay }
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

function addUp(list: readonly { readonly sums: TokenSums }[]): readonly TokenSums[] {
  const sums = new Map<string, TokenSums>()
  for (const { sums: each } of list) {
    const id = `${each.token}|${each.chainId}`
    const before = sums.get(id)
    const { token, chainId } = each
    sums.set(id, before === undefined ? each : { token, chainId, ...addSums(before, each) })
  }
  return [...sums.values()]
}
