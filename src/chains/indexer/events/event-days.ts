import { startOfDay } from '#lib/time.ts'
import type { Connection } from '#store/engine.ts'
import { column } from '#store/row.ts'
import { empty, join, sql } from '#store/sql.ts'
import type { AsOfSnapshot } from '../as-of-snapshot.ts'
import { addSums, NOTHING, type Sums } from './event.ts'
import { readContribution } from './store-events.ts'
import { readSums } from './sums-row.ts'

export interface EventDaysQuery {
  readonly dataset: string
  readonly token: string | undefined
  readonly fromUnix: number
  readonly chainId?: number
  readonly snapshot?: AsOfSnapshot | undefined
}

export async function readEventDays(
  connection: Connection,
  input: EventDaysQuery,
): Promise<ReadonlyMap<number, Sums>> {
  const { token, chainId, snapshot } = input
  const found = await connection.run(sql`
    select bucket_unix, chain_id, amount, usd, events, priced from event_buckets
    where dataset = ${input.dataset} and grain = 'day' and bucket_unix >= ${input.fromUnix}
      ${token === undefined ? empty : sql`and token = ${token}`}
      ${chainId === undefined ? empty : sql`and chain_id = ${chainId}`}`)
  const days = new Map<number, Sums>()
  const add = (day: number, sums: Sums) => days.set(day, addSums(days.get(day) ?? NOTHING, sums))
  for (const row of found) {
    const day = column.integer(row, 'bucket_unix')
    if (isWhole(day, column.integer(row, 'chain_id'), snapshot)) add(day, readSums(row))
  }
  if (snapshot !== undefined)
    for (const { timestamp, sums } of await eventsOfLastDays(connection, { ...input, snapshot }))
      if (timestamp >= input.fromUnix) add(startOfDay(timestamp), sums)
  return days
}

function isWhole(day: number, chainId: number, snapshot: AsOfSnapshot | undefined): boolean {
  if (snapshot === undefined) return true
  const block = snapshot.get(chainId)
  return block !== undefined && day < startOfDay(block.unix)
}

/** A chain's last day ends with its block. */
async function eventsOfLastDays(
  connection: Connection,
  { dataset, token, chainId, snapshot }: EventDaysQuery & { readonly snapshot: AsOfSnapshot },
) {
  const chains = [...snapshot].filter(([id]) => chainId === undefined || id === chainId)
  if (chains.length === 0) return []
  const lists = chains.map(
    ([id, { number, unix }]) => sql`
      select chain_id, token, account, timestamp_unix, amount, usd from events
      where dataset = ${dataset} and chain_id = ${id} and counted = 1
        ${token === undefined ? empty : sql`and token = ${token}`}
        and timestamp_unix >= ${startOfDay(unix)} and timestamp_unix <= ${unix}
        and block_number <= ${number}`,
  )
  const found = await connection.run(join(lists, ' union all '))
  return found.map(readContribution)
}

export async function firstEventDay(
  connection: Connection,
  dataset: string,
  token: string | undefined,
): Promise<number | undefined> {
  const [row] = await connection.run(sql`
    select bucket_unix from event_buckets
    where dataset = ${dataset} and grain = 'day'
      ${token === undefined ? empty : sql`and token = ${token}`}
    order by bucket_unix limit 1`)
  return row && column.integer(row, 'bucket_unix')
}
