import { hash } from 'node:crypto'
import type { Connection } from '#store/engine.ts'
import { column, type Row, sql } from '#store/sql.ts'
import { LIST_COLUMNS, toListed } from '../events/list-events.ts'
import { type FeedEvent, toFeedEvent } from './changes.ts'
import type { FeedCursor } from './cursor.ts'
import { readRange } from './read-range.ts'

export type Op = 'add' | 'update' | 'retract' | 'finalized' | 'reset'

export interface FeedState {
  readonly epoch: string
  readonly last: number
  /** The first that is kept. */
  readonly pruned: number
}

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
  const [row] = await connection.run(selectChange(state.last))
  return row && cursorAt(state.epoch, row)
}

export interface FeedItem {
  readonly change: FeedChange
  /** The cursor after this change. */
  readonly cursor: FeedCursor
}

export interface FeedPage {
  readonly items: readonly FeedItem[]
  /** The cursor after all changes that were looked at. */
  readonly next: FeedCursor
}

export interface PageInput {
  readonly cursor: FeedCursor
  readonly finality: 'latest' | 'finalized'
  /** Datasets with events, for readers of final ones. */
  readonly datasets: readonly string[]
  readonly limit: number
}

/**
 * `ahead`: this database has not seen the cursor, such as a standby that lags. `gone`: its change is
 * no longer kept, or was lost with a commit.
 */
export async function readPage(
  connection: Connection,
  input: PageInput,
): Promise<FeedPage | 'ahead' | 'gone'> {
  const { cursor, finality, limit } = input
  const state = await readFeedState(connection)
  if (state?.epoch !== cursor.epoch || cursor.sequence > state.last) return 'ahead'
  const isAll = finality === 'latest'
  const [anchor, ...rows] = isAll
    ? await connection.run(sql`
        select ${COLUMNS} from changes
        where sequence >= ${cursor.sequence} order by sequence limit ${limit + 1}`)
    : [
        ...(await connection.run(selectChange(cursor.sequence))),
        ...(await finalRows(connection, input)),
      ]
  if (anchor === undefined || !isAt(cursor, anchor)) return 'gone'
  if (isAll) {
    const items = rows.map((row) => toItem(state.epoch, row))
    return { items, next: items.at(-1)?.cursor ?? cursor }
  }
  const items = await expand(
    connection,
    input,
    cursor.within === undefined ? rows : [anchor, ...rows],
  )
  if (items.length >= limit) return { items, next: items.at(-1)?.cursor ?? cursor }
  const [end = anchor] = await connection.run(selectChange(state.last))
  return { items, next: cursorAt(state.epoch, end) }
}

function isAt(cursor: FeedCursor, row: Row): boolean {
  if (column.integer(row, 'sequence') !== cursor.sequence) return false
  return cursor.hash === '' || cursor.hash === hashOf(row)
}

const COLUMNS = sql`sequence, op, dataset, final, written_unix, ${LIST_COLUMNS}`

function selectChange(sequence: number) {
  return sql`select ${COLUMNS} from changes where sequence = ${sequence}`
}

function finalRows(connection: Connection, { cursor, limit }: PageInput): Promise<readonly Row[]> {
  return connection.run(sql`
    select ${COLUMNS} from changes
    where final = 1 and sequence > ${cursor.sequence} order by sequence limit ${limit}`)
}

/** What became final stands before the change that says so. */
async function expand(
  connection: Connection,
  { cursor, datasets, limit }: PageInput,
  rows: readonly Row[],
): Promise<readonly FeedItem[]> {
  const items: FeedItem[] = []
  for (const row of rows) {
    const own = toItem(cursor.epoch, row)
    const { op, event, sequence } = own.change
    if (op === 'finalized') {
      const { chainId, blockNumber: to, detail } = event
      const after = sequence === cursor.sequence ? cursor.within : undefined
      const range = { chainId, from: Number(detail), to, after, datasets }
      for (const each of await readRange(connection, { ...range, limit: limit - items.length }))
        items.push({
          change: { sequence, op: 'add', event: each.event, isFinal: true },
          cursor: { ...own.cursor, within: each.within },
        })
    }
    if (items.length >= limit) break
    items.push(own)
  }
  return items
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
  return { epoch, sequence: column.integer(row, 'sequence'), hash: hashOf(row) }
}

function hashOf(row: Row): string {
  const { chainId, blockNumber, place, txHash, token, amount, detail, usd } = toListed(row)
  const facts = [row.op, row.dataset, chainId, blockNumber, place, txHash, token, detail]
  const text = [...facts, amount, usd, column.integer(row, 'written_unix')].join(' ')
  return hash('sha256', text, 'hex').slice(0, 8)
}
