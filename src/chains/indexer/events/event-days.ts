import type { Connection } from '#store/engine.ts'
import { column } from '#store/row.ts'
import { empty, sql } from '#store/sql.ts'
import { addSums, NOTHING, type Sums } from './event.ts'
import { readSums } from './sums-row.ts'

export interface EventDaysQuery {
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
