import type { Connection, Row } from '#store/engine.ts'
import { column } from '#store/row.ts'
import { inNames, sql } from '#store/sql.ts'
import { LIST_COLUMNS, toListed } from '../events/list-events.ts'
import { byPlace, type FeedEvent } from './changes.ts'

export type Op = 'add' | 'update' | 'retract' | 'finalized'

/** The dataset of price changes; `detail` is the price in dollars, scaled, or null without one. */
export const PRICES_OF_FEED = 'prices'

export interface FeedState {
  readonly epoch: string
  readonly last: number
  /** Changes up to this one are no longer kept. */
  readonly pruned: number
}

export interface FeedChange {
  readonly sequence: number
  readonly op: Op
  /** Of `finalized`: up to `blockNumber`, from above the block in `detail`. */
  readonly event: FeedEvent
  /** Its block was final at the commit. */
  readonly isFinal: boolean
}

/** Undefined until a chain is live. */
export async function readFeedState(connection: Connection): Promise<FeedState | undefined> {
  const [row] = await connection.run(sql`select epoch, last, pruned from feed`)
  return (
    row && {
      epoch: column.text(row, 'epoch'),
      last: column.integer(row, 'last'),
      pruned: column.integer(row, 'pruned'),
    }
  )
}

export async function readChanges(
  connection: Connection,
  { after, limit }: { readonly after: number; readonly limit: number },
): Promise<readonly FeedChange[]> {
  const found = await connection.run(sql`
    select sequence, op, dataset, final, ${LIST_COLUMNS} from changes
    where sequence > ${after} order by sequence limit ${limit}`)
  return found.map((row) => ({
    sequence: column.integer(row, 'sequence'),
    op: column.text(row, 'op') as Op,
    event: toEvent(row),
    isFinal: column.flag(row, 'final'),
  }))
}

function toEvent(row: Row): FeedEvent {
  return { dataset: column.text(row, 'dataset'), ...toListed(row) }
}

export interface FinalRange {
  readonly chainId: number
  readonly from: number
  readonly to: number
  readonly datasets: readonly string[]
}

/** What a range of blocks brought for good, oldest first; prices only if the feed has them. */
export async function readFinal(
  connection: Connection,
  { chainId, from, to, datasets }: FinalRange,
): Promise<readonly FeedEvent[]> {
  const found = await connection.run(sql`
    select dataset, ${LIST_COLUMNS} from events
    where dataset ${inNames(datasets)} and chain_id = ${chainId}
      and block_number > ${from} and block_number <= ${to}`)
  const prices = await pricesAbove(connection, chainId, from)
  const final = prices.filter(({ blockNumber }) => blockNumber <= to)
  return [...found.map(toEvent), ...final].sort((a, b) => byPlace(a, b))
}

/** Prices that the feed added above a block and did not retract. */
export async function pricesAbove(
  connection: Connection,
  chainId: number,
  block: number,
): Promise<readonly FeedEvent[]> {
  const found = await connection.run(sql`
    select op, dataset, ${LIST_COLUMNS} from changes
    where dataset = ${PRICES_OF_FEED} and chain_id = ${chainId} and block_number > ${block}
    order by sequence`)
  const left = new Map<string, FeedEvent>()
  for (const row of found) {
    const event = toEvent(row)
    const key = `${event.token} ${event.blockNumber} ${event.txHash} ${event.place}`
    if (row.op === 'add') left.set(key, event)
    if (row.op === 'retract') left.delete(key)
  }
  return [...left.values()]
}
