import { hash } from 'node:crypto'
import type { Connection, Tables } from '#db/engine.ts'
import { column, empty, inNames, type Row, type Sql, sql } from '#db/sql.ts'
import { LIST_COLUMNS, type ListedEvent, toListed } from '../events/list-events.ts'

/**
 * `feed` has one row: changes from `pruned` to `last` are in `changes`. `detail` of a price is the price, of
 * `finalized` the block before, of `reset` the first block.
 */
export const feedTables: Tables = `
    create table feed (
      name text primary key,
      epoch text not null,
      last bigint not null,
      pruned bigint not null
    );
    create table changes (
      sequence bigint primary key,
      op text not null,
      dataset text not null,
      chain_id bigint not null,
      block_number bigint not null,
      place bigint not null,
      tx_hash text not null,
      timestamp_unix bigint not null,
      kind text not null,
      token text not null,
      account text,
      amount text not null,
      detail text,
      usd text,
      -- For readers of final events too.
      final bigint not null,
      written_unix bigint not null
    );
    create index changes_at on changes (dataset, chain_id, block_number, place, token)`

/** The dataset of price changes; `detail` is the price in dollars, scaled, or null without one. */
export const PRICES_OF_FEED = 'prices'

export interface FeedEvent extends ListedEvent {
  readonly dataset: string
}

export function toFeedEvent(row: Row): FeedEvent {
  return { dataset: column.text(row, 'dataset'), ...toListed(row) }
}

export type Op = 'add' | 'update' | 'retract' | 'finalized' | 'reset'

export interface FeedChange {
  readonly sequence: number
  readonly op: Op
  /**
   * `finalized` covers blocks above the one in `detail` up to `blockNumber`; what is older than
   * `timestamp` is final on every chain. `reset` covers blocks from `detail` to `blockNumber`, or
   * all if that is -1.
   */
  readonly event: FeedEvent
  /** Readers of final events get it too. */
  readonly isFinal: boolean
}

/** A reader's place: after the change with this sequence, or within what it made final. */
export interface FeedCursor {
  readonly epoch: string
  readonly sequence: number
  /** Digest of the change, since sequences repeat after a lost commit; empty before the first change. */
  readonly hash: string
  /** The last event that was read; `nth` counts those of one place. */
  readonly within?: RangePlace
}

interface RangePlace {
  readonly blockNumber: number
  readonly place: number
  readonly nth: number
}

/** No log brings a thousand events; a made-up place must not make a page long. */
const CURSOR =
  /^([0-9a-f]{12})[.](\d{1,15})(?:[.]([0-9a-f]{8})(?:[.](\d{1,15})-(\d{1,16})-(\d{1,3}))?)?$/

export const CURSOR_PATTERN = CURSOR.source

export function showCursor({ epoch, sequence, hash, within }: FeedCursor): string {
  const place = within === undefined ? [] : [`${within.blockNumber}-${within.place}-${within.nth}`]
  return [epoch, sequence, ...(hash === '' ? [] : [hash]), ...place].join('.')
}

export function parseCursor(text: string): FeedCursor | undefined {
  const match = CURSOR.exec(text)
  if (match === null) return undefined
  const [, epoch = '', sequence, hash = '', blockNumber, place, nth] = match
  const cursor = { epoch, sequence: Number(sequence), hash }
  if (blockNumber === undefined) return cursor
  const within = { blockNumber: Number(blockNumber), place: Number(place), nth: Number(nth) }
  return { ...cursor, within }
}

export interface FeedState {
  readonly epoch: string
  readonly last: number
  /** The first that is kept. */
  readonly pruned: number
}

/** Undefined until a chain is live. */
export async function readFeedState(connection: Connection): Promise<FeedState | undefined> {
  const [row] = await connection.run(sql`select epoch, last, pruned from feed`)
  if (row === undefined) return undefined
  const { text, integer } = column
  return { epoch: text(row, 'epoch'), last: integer(row, 'last'), pruned: integer(row, 'pruned') }
}

/** The cursor of a reader who wants only what comes next. */
export async function readEnd(connection: Connection): Promise<FeedCursor | undefined> {
  const state = await readFeedState(connection)
  if (state === undefined) return undefined
  const [row] = await connection.run(sql`
    select ${COLUMNS} from changes where sequence = ${state.last}`)
  return row && cursorAt(state.epoch, row)
}

export interface FeedItem {
  readonly change: FeedChange
  /** The cursor after this change. */
  readonly cursor: FeedCursor
}

interface FeedPage {
  readonly items: readonly FeedItem[]
  /** The cursor after them. */
  readonly next: FeedCursor
}

export interface PageInput {
  readonly cursor: FeedCursor
  readonly finality: 'latest' | 'finalized'
  /** Datasets with events, for readers of final ones. */
  readonly datasets: readonly string[]
  readonly limit: number
}

/** `lost`: the change of the cursor is not kept, was lost with its commit, or is of another register. */
export async function readPage(
  connection: Connection,
  { cursor, finality, datasets, limit }: PageInput,
): Promise<FeedPage | 'lost'> {
  const { epoch, sequence, within } = cursor
  const state = await readFeedState(connection)
  if (state?.epoch !== epoch) return 'lost'
  const isFinal = finality === 'finalized'
  const [anchor, ...rows] = await connection.run(sql`
    select ${COLUMNS} from changes
    where sequence >= ${sequence} ${isFinal ? sql`and (final = 1 or sequence = ${sequence})` : empty}
    order by sequence limit ${limit + 1}`)
  if (anchor === undefined || !isChange(cursor, anchor)) return 'lost'
  const items: FeedItem[] = []
  for (const row of within === undefined ? rows : [anchor, ...rows]) {
    const own = toItem(epoch, row)
    if (isFinal && own.change.op === 'finalized') {
      const after = row === anchor ? within : undefined
      const range = { datasets, after, limit: limit - items.length }
      items.push(...(await madeFinal(connection, own, range)))
    }
    if (items.length >= limit) break
    items.push(own)
  }
  return { items, next: items.at(-1)?.cursor ?? cursor }
}

function isChange(cursor: FeedCursor, row: Row): boolean {
  if (column.integer(row, 'sequence') !== cursor.sequence) return false
  return cursor.hash === '' || cursor.hash === hashChange(row)
}

const COLUMNS = sql`sequence, op, dataset, final, written_unix, ${LIST_COLUMNS}`

/** The events that a change made final, which come before it: by block and place. */
async function madeFinal(
  connection: Connection,
  { change: { sequence, event }, cursor }: FeedItem,
  {
    datasets,
    after,
    limit,
  }: {
    readonly datasets: readonly string[]
    readonly after: RangePlace | undefined
    readonly limit: number
  },
): Promise<readonly FeedItem[]> {
  const blocks = { chainId: event.chainId, from: Number(event.detail), to: event.blockNumber }
  const start =
    after === undefined
      ? empty
      : sql`where (block_number, place) >= (${after.blockNumber}, ${after.place})`
  const found = await connection.run(sql`
    select * from (
      select dataset, ${LIST_COLUMNS} from events
      where dataset ${inNames(datasets)} and chain_id = ${blocks.chainId}
        and block_number > ${blocks.from} and block_number <= ${blocks.to}
      union all ${pricesIn(blocks)}
    ) as made_final ${start}
    order by block_number, place, dataset, token limit ${limit + (after?.nth ?? -1) + 1}`)
  const items: FeedItem[] = []
  let last: RangePlace | undefined
  for (const row of found) {
    const own = toFeedEvent(row)
    const { blockNumber, place } = own
    const nth = isAt(last, own) ? last.nth + 1 : 0
    last = { blockNumber, place, nth }
    if (isAt(after, own) && nth <= after.nth) continue
    const added = { sequence, op: 'add', event: own, isFinal: true } as const
    items.push({ change: added, cursor: { ...cursor, within: last } })
  }
  return items
}

function isAt(
  range: RangePlace | undefined,
  { blockNumber, place }: FeedEvent,
): range is RangePlace {
  return range?.blockNumber === blockNumber && range.place === place
}

/** Selects the prices that the feed added in blocks above `from` and did not retract. */
export function pricesIn({
  chainId,
  from,
  to,
}: {
  readonly chainId: number
  readonly from: number
  readonly to: number
}): Sql {
  return sql`
    select dataset, ${LIST_COLUMNS} from changes
    where dataset = ${PRICES_OF_FEED} and chain_id = ${chainId}
      and block_number > ${from} and block_number <= ${to}
      and op = 'add' and not exists (
        select 1 from changes as later
        where later.dataset = ${PRICES_OF_FEED} and later.chain_id = ${chainId}
          and later.block_number = changes.block_number and later.place = changes.place
          and later.token = changes.token and later.tx_hash = changes.tx_hash
          and later.op = 'retract' and later.sequence > changes.sequence)`
}

function toItem(epoch: string, row: Row): FeedItem {
  const change = {
    sequence: column.integer(row, 'sequence'),
    op: column.text(row, 'op') as Op,
    event: toFeedEvent(row),
    isFinal: column.flag(row, 'final'),
  }
  return { change, cursor: cursorAt(epoch, row) }
}

function cursorAt(epoch: string, row: Row): FeedCursor {
  return { epoch, sequence: column.integer(row, 'sequence'), hash: hashChange(row) }
}

function hashChange(row: Row): string {
  const { chainId, blockNumber, place, txHash, token, amount, detail, usd } = toListed(row)
  const facts = [row.op, row.dataset, chainId, blockNumber, place, txHash, token, detail]
  const text = [...facts, amount, usd, column.integer(row, 'written_unix')].join(' ')
  return hash('sha256', text, 'hex').slice(0, 8)
}
