import type { Connection } from '#store/engine.ts'
import { empty, sql } from '#store/sql.ts'
import { LIST_COLUMNS } from '../events/list-events.ts'
import { type FeedEvent, toFeedEvent } from './changes.ts'
import type { RangePlace } from './cursor.ts'

/** The dataset of price changes; `detail` is the price in dollars, scaled, or null without one. */
export const PRICES_OF_FEED = 'prices'

export interface RangeInput {
  readonly chainId: number
  /** Exclusive. */
  readonly from: number
  readonly to: number
  readonly after?: RangePlace | undefined
  readonly datasets: readonly string[]
  readonly limit: number
}

export interface RangeEvent {
  readonly event: FeedEvent
  readonly within: RangePlace
}

/** What a range of blocks brought for good, oldest first; prices only if the feed has them. */
export async function readRange(
  connection: Connection,
  input: RangeInput,
): Promise<readonly RangeEvent[]> {
  const { after, datasets } = input
  const limit = input.limit + (after === undefined ? 0 : after.nth + 1)
  const found: FeedEvent[] = []
  for (const dataset of datasets)
    found.push(...(await eventsIn(connection, { ...input, limit }, dataset)))
  found.push(...(await pricesIn(connection, { ...input, limit })))
  const ordered = found.toSorted(
    (a, b) =>
      a.blockNumber - b.blockNumber ||
      a.place - b.place ||
      datasets.indexOf(a.dataset) - datasets.indexOf(b.dataset) ||
      (a.token < b.token ? -1 : 1),
  )
  const numbered: RangeEvent[] = []
  for (const event of ordered) {
    const { blockNumber, place } = event
    const before = numbered.at(-1)?.within
    const isSame = before?.blockNumber === blockNumber && before.place === place
    numbered.push({ event, within: { blockNumber, place, nth: isSame ? before.nth + 1 : 0 } })
  }
  return numbered.filter(({ within }) => isAfter(within, after)).slice(0, input.limit)
}

function isAfter(a: RangePlace, b: RangePlace | undefined): boolean {
  if (b === undefined || a.blockNumber !== b.blockNumber || a.place !== b.place) return true
  return a.nth > b.nth
}

async function eventsIn(
  connection: Connection,
  { chainId, from, to, after, limit }: RangeInput,
  dataset: string,
): Promise<readonly FeedEvent[]> {
  const found = await connection.run(sql`
    select dataset, ${LIST_COLUMNS} from events
    where dataset = ${dataset} and chain_id = ${chainId}
      and block_number > ${from} and block_number <= ${to} ${startAt(after)}
    order by block_number, place limit ${limit}`)
  return found.map(toFeedEvent)
}

/** Prices that the feed added in these blocks and did not retract. */
export async function pricesIn(
  connection: Connection,
  { chainId, from, to, after, limit }: Omit<RangeInput, 'datasets'>,
): Promise<readonly FeedEvent[]> {
  const found = await connection.run(sql`
    select dataset, ${LIST_COLUMNS} from changes
    where dataset = ${PRICES_OF_FEED} and chain_id = ${chainId}
      and block_number > ${from} and block_number <= ${to} ${startAt(after)}
      and op = 'add' and not exists (
        select 1 from changes as later
        where later.dataset = ${PRICES_OF_FEED} and later.chain_id = ${chainId}
          and later.block_number = changes.block_number and later.place = changes.place
          and later.token = changes.token and later.tx_hash = changes.tx_hash
          and later.op = 'retract' and later.sequence > changes.sequence)
    order by block_number, place, token limit ${limit}`)
  return found.map(toFeedEvent)
}

function startAt(after: RangePlace | undefined) {
  if (after === undefined) return empty
  return sql`and (block_number, place) >= (${after.blockNumber}, ${after.place})`
}
