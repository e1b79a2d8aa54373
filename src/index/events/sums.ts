import type { Log } from '#base/chain.ts'
import type { MicroUsd } from '#base/money.ts'
import { DAY_SECONDS, HOUR_SECONDS } from '#base/time.ts'
import type { Connection } from '#db/engine.ts'
import { column, empty, join, type Row, sql } from '#db/sql.ts'
import type { EventReading } from '#ecosystem/event-source.ts'
import type { ListedEvent } from './list-events.ts'

export interface EventFact extends EventReading {
  readonly log: Pick<
    Log,
    'chainId' | 'blockNumber' | 'blockHash' | 'txHash' | 'txIndex' | 'logIndex' | 'timestamp'
  > & {
    /** Among the rows that the code of a mapping makes of the log. */
    readonly row?: number
  }
}

export interface Sums {
  readonly amount: bigint
  readonly usd: MicroUsd
  readonly events: number
  readonly priced: number
}

export const TOTAL = 0

export const NOTHING: Sums = { amount: 0n, usd: 0n, events: 0, priced: 0 }

export function addSums(a: Sums, b: Sums): Sums {
  return {
    amount: a.amount + b.amount,
    usd: a.usd + b.usd,
    events: a.events + b.events,
    priced: a.priced + b.priced,
  }
}

export function takeSums(sums: Sums, some: Sums): Sums {
  return {
    amount: sums.amount - some.amount,
    usd: sums.usd - some.usd,
    events: sums.events - some.events,
    priced: sums.priced - some.priced,
  }
}

/** What one event adds. */
export function sumsOf({ amount, usd }: Pick<ListedEvent, 'amount' | 'usd'>): Sums {
  return { amount, usd: usd ?? 0n, events: 1, priced: usd === null ? 0 : 1 }
}

export function readSums(row: Row): Sums {
  return {
    amount: column.bigint(row, 'amount'),
    usd: column.bigint(row, 'usd'),
    events: column.integer(row, 'events'),
    priced: column.integer(row, 'priced'),
  }
}

export interface TokenSums extends Sums {
  readonly token: string
  readonly chainId: number
}

interface Window {
  readonly startUnix: number
  readonly firstHour: number
  readonly firstDay: number
}

function windowOf(asOfUnix: number, seconds: number): Window {
  const startUnix = asOfUnix - seconds + 1
  const firstHour = Math.ceil(startUnix / HOUR_SECONDS) * HOUR_SECONDS
  return { startUnix, firstHour, firstDay: Math.ceil(firstHour / DAY_SECONDS) * DAY_SECONDS }
}

type WindowSums = readonly (readonly TokenSums[])[]

interface Asked {
  readonly dataset: string
  readonly windows: readonly Window[]
}

export async function sumWindows(
  connection: Connection,
  { dataset, asOfUnix }: { readonly dataset: string; readonly asOfUnix: number },
): Promise<WindowSums> {
  const windows = [1, 7, 30].map((days) => windowOf(asOfUnix, days * DAY_SECONDS))
  const whole = await sumWhole(connection, { dataset, windows })
  const broken = await sumBroken(connection, { dataset, windows })
  return whole.map((each, place) => addUp([...each, ...(broken[place] ?? [])]))
}

async function sumWhole(connection: Connection, { dataset, windows }: Asked): Promise<WindowSums> {
  const hours = windows.map(
    ({ firstHour, firstDay }, place) => sql`
      select cast(${place} as integer) as place, bucket_unix, token, chain_id, amount, usd, events, priced
      from event_buckets
      where dataset = ${dataset} and grain = 'hour'
        and bucket_unix >= ${firstHour} and bucket_unix < ${firstDay}`,
  )
  const earliestDay = Math.min(...windows.map(({ firstDay }) => firstDay))
  const found = await connection.run(sql`
    ${join(hours, ' union all ')}
    union all
    select cast(${DAYS} as integer) as place, bucket_unix, token, chain_id, amount, usd, events, priced
    from event_buckets
    where dataset = ${dataset} and grain = 'day'
      and bucket_unix >= ${earliestDay}`)
  const rows = found.map((row) => ({
    place: column.integer(row, 'place'),
    bucketUnix: column.integer(row, 'bucket_unix'),
    sums: toTokenSums(row),
  }))
  return windows.map(({ firstDay }, place) => {
    const own = rows.filter((each) =>
      each.place === DAYS ? each.bucketUnix >= firstDay : each.place === place,
    )
    return addUp(own.map(({ sums }) => sums))
  })
}

/** Marks days, which any window may use. */
const DAYS = -1

async function sumBroken(connection: Connection, { dataset, windows }: Asked): Promise<WindowSums> {
  const broken = windows.map(
    ({ startUnix, firstHour }, place) => sql`
      select cast(${place} as integer) as place, chain_id, token, amount, usd from events
      where dataset = ${dataset} and counted = 1
        and timestamp_unix >= ${startUnix} and timestamp_unix < ${firstHour}`,
  )
  const found = await connection.run(join(broken, ' union all '))
  return windows.map((_, place) =>
    addUp(
      found
        .filter((row) => column.integer(row, 'place') === place)
        .map((row) => ({ ...labels(row), ...sumsOf(amountsOf(row)) })),
    ),
  )
}

/** Compares with `<=`: with `=`, SQLite would read every bucket to order them. */
export async function sumTotals(
  connection: Connection,
  dataset: string,
): Promise<readonly TokenSums[]> {
  const found = await connection.run(sql`
    select token, chain_id, amount, usd, events, priced from event_buckets
    where dataset = ${dataset} and grain = 'total' and bucket_unix <= ${TOTAL}
    order by token, chain_id`)
  return found.map(toTokenSums)
}

export function totalOf(
  list: readonly TokenSums[],
  accept: (sums: TokenSums) => boolean = () => true,
): Sums {
  return list.filter(accept).reduce<Sums>(addSums, NOTHING)
}

/** How many events have no dollar value. */
export function unpricedOf({ events, priced }: Pick<Sums, 'events' | 'priced'>): number {
  return events - priced
}

export function dollarsOf(sums: Sums): bigint | null {
  return sums.events > 0 && sums.priced === 0 ? null : sums.usd
}

function amountsOf(row: Row) {
  return { amount: column.bigint(row, 'amount'), usd: column.bigintOrNull(row, 'usd') }
}

function labels(row: Row) {
  return { token: column.text(row, 'token'), chainId: column.integer(row, 'chain_id') }
}

function toTokenSums(row: Row): TokenSums {
  return { ...labels(row), ...readSums(row) }
}

function addUp(list: readonly TokenSums[]): readonly TokenSums[] {
  const sums = new Map<string, TokenSums>()
  for (const each of list) {
    const { token, chainId } = each
    const id = `${token}|${chainId}`
    const before = sums.get(id)
    sums.set(id, before === undefined ? each : { token, chainId, ...addSums(before, each) })
  }
  return [...sums.values()]
}

interface EventDaysQuery {
  readonly dataset: string
  readonly token: string | undefined
  readonly fromUnix: number
  readonly chainId?: number
}

export async function readEventDays(
  connection: Connection,
  input: EventDaysQuery,
): Promise<ReadonlyMap<number, Sums>> {
  const { token, chainId } = input
  const found = await connection.run(sql`
    select bucket_unix, amount, usd, events, priced from event_buckets
    where dataset = ${input.dataset} and grain = 'day' and bucket_unix >= ${input.fromUnix}
      ${token === undefined ? empty : sql`and token = ${token}`}
      ${chainId === undefined ? empty : sql`and chain_id = ${chainId}`}`)
  const days = new Map<number, Sums>()
  for (const row of found) {
    const day = column.integer(row, 'bucket_unix')
    days.set(day, addSums(days.get(day) ?? NOTHING, readSums(row)))
  }
  return days
}
