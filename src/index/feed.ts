import { hash, randomBytes } from 'node:crypto'
import { allEnded } from '#base/async.ts'
import { toPlace } from '#base/chain.ts'
import type { MicroUsd } from '#base/money.ts'
import { DAY_SECONDS } from '#base/time.ts'
import type { BulkInsert, Connection, Tables } from '#db/engine.ts'
import { column, type Row, sql, toStored } from '#db/sql.ts'
import {
  type EventFact,
  type EventPlace,
  LIST_COLUMNS,
  type ListedEvent,
  type PriceBook,
  toListed,
} from './event.ts'

/**
 * `feed` has one row: changes from `pruned` to `last` are in `changes`. `detail` of a price is the price,
 * of `reset` the first block.
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
   * `finalized` covers blocks up to `blockNumber`, `reset` those from `detail` to `blockNumber`, or all if that is -1.
   */
  readonly event: FeedEvent
}

/** A reader's place: after the change with this sequence. */
export interface FeedCursor {
  readonly epoch: string
  readonly sequence: number
  /** Digest of the change, since sequences repeat after a lost commit; empty before the first change. */
  readonly hash: string
}

const CURSOR = /^([0-9a-f]{12})[.](\d{1,15})(?:[.]([0-9a-f]{8}))?$/

export const CURSOR_PATTERN = CURSOR.source

export function showCursor({ epoch, sequence, hash }: FeedCursor): string {
  return [epoch, sequence, ...(hash === '' ? [] : [hash])].join('.')
}

export function parseCursor(text: string): FeedCursor | undefined {
  const match = CURSOR.exec(text)
  if (match === null) return undefined
  const [, epoch = '', sequence, hash = ''] = match
  return { epoch, sequence: Number(sequence), hash }
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
  readonly limit: number
}

/** `lost`: the change of the cursor is not kept, was lost with its commit, or is of another register. */
export async function readPage(
  connection: Connection,
  { cursor, limit }: PageInput,
): Promise<FeedPage | 'lost'> {
  const { epoch, sequence } = cursor
  const state = await readFeedState(connection)
  if (state?.epoch !== epoch) return 'lost'
  const [anchor, ...rows] = await connection.run(sql`
    select ${COLUMNS} from changes where sequence >= ${sequence}
    order by sequence limit ${limit + 1}`)
  if (anchor === undefined || !isChange(cursor, anchor)) return 'lost'
  const items = rows.map((row) => toItem(epoch, row))
  return { items, next: items.at(-1)?.cursor ?? cursor }
}

function isChange(cursor: FeedCursor, row: Row): boolean {
  if (column.integer(row, 'sequence') !== cursor.sequence) return false
  return cursor.hash === '' || cursor.hash === hashChange(row)
}

const COLUMNS = sql`sequence, op, dataset, written_unix, ${LIST_COLUMNS}`

function toItem(epoch: string, row: Row): FeedItem {
  const change = {
    sequence: column.integer(row, 'sequence'),
    op: column.text(row, 'op') as Op,
    event: toFeedEvent(row),
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

const KEPT_SECONDS = 7 * DAY_SECONDS

/** About 500 MB. */
const KEPT_MAX = 1_000_000

/** Rows are pruned in lots, so that few commits delete. */
const PRUNE_LOT = 1_000

const NAME = 'register'

interface FedCommit {
  readonly chainId: number
  readonly changes: Changes
  readonly finalizedBefore: number
  readonly finalizedNumber: number
  readonly ancestor?: number | undefined
  /** A range of history, without its single changes. */
  readonly isHistory?: boolean
  /** Time of the process, not of a block. */
  readonly nowUnix: number
}

interface Change {
  readonly op: Op
  readonly event: FeedEvent
}

/**
 * Call it in the transaction that changes the rows. The leader's row, locked since its start, makes commits follow one another, so sequences are committed in order.
 */
export async function writeFeed(
  connection: Connection,
  book: PriceBook,
  commit: FedCommit,
): Promise<void> {
  const { chainId, finalizedBefore, isHistory = false } = commit
  const state = await readFeedState(connection)
  if (state === undefined && isHistory) return
  const heights = await readHeights(connection)
  const reset = (id: number, from: number): Change => {
    const to = heights.numbers.get(id) ?? -1
    const at = { ...NOWHERE, dataset: '', chainId: id, blockNumber: to }
    return { op: 'reset', event: { ...at, detail: String(from) } }
  }
  const { areTooMany, touched } = commit.changes
  const resets = [
    ...(isHistory ? [reset(chainId, finalizedBefore + 1)] : []),
    ...(state !== undefined && areTooMany ? [...touched].map(([id, from]) => reset(id, from)) : []),
    ...(state === undefined ? [reset(chainId, 0)] : []),
  ]
  const isListed = state !== undefined && !areTooMany
  const list = [
    ...(isHistory ? [] : await lostPriceChanges(connection, commit)),
    ...resets,
    ...(isListed ? await listChanges(connection, book, commit, heights.newestUnix) : []),
    ...(isHistory ? [] : finalizedChange(commit)),
  ]
  if (list.length > 0)
    await append(connection, state ?? (await start(connection)), list, commit.nowUnix)
}

/** Writes the first row of a new register. */
async function start(connection: Connection): Promise<FeedState> {
  const epoch = randomBytes(6).toString('hex')
  await connection.run(
    sql`insert into feed (name, epoch, last, pruned) values (${NAME}, ${epoch}, 0, 1)`,
  )
  return { epoch, last: 0, pruned: 1 }
}

async function append(
  connection: Connection,
  { last: before, pruned }: FeedState,
  list: readonly Change[],
  nowUnix: number,
): Promise<void> {
  const last = before + list.length
  await connection.run(sql`update feed set last = ${last} where name = ${NAME}`)
  const rows = list.map(({ op, event }, index) => {
    return [
      before + 1 + index,
      op,
      event.dataset,
      event.chainId,
      event.blockNumber,
      event.place,
      event.txHash,
      event.timestamp,
      event.kind,
      event.token,
      event.account,
      toStored(event.amount),
      event.detail,
      event.usd === null ? null : toStored(event.usd),
      nowUnix,
    ]
  })
  await connection.insert(CHANGES, rows)
  await prune(connection, { last, pruned, nowUnix })
}

async function prune(
  connection: Connection,
  { last, pruned, nowUnix }: Omit<FeedState, 'epoch'> & { readonly nowUnix: number },
): Promise<void> {
  const lot = pruned + PRUNE_LOT
  const [aged] = await connection.run(sql`
    select sequence from changes
    where sequence = ${lot} and written_unix < ${nowUnix - KEPT_SECONDS}`)
  const upTo = Math.max(aged === undefined ? 0 : lot, last - KEPT_MAX > lot ? last - KEPT_MAX : 0)
  if (upTo === 0) return
  await connection.run(sql`delete from changes where sequence < ${upTo}`)
  await connection.run(sql`update feed set pruned = ${upTo} where name = ${NAME}`)
}

function finalizedChange({
  chainId,
  finalizedBefore,
  finalizedNumber,
}: FedCommit): readonly Change[] {
  if (finalizedNumber <= finalizedBefore) return []
  const at = { ...NOWHERE, dataset: '', chainId, blockNumber: finalizedNumber }
  return [{ op: 'finalized', event: at }]
}

/** Prices that were added in blocks which left the chain, and not retracted before. */
async function lostPriceChanges(
  connection: Connection,
  { chainId, ancestor }: FedCommit,
): Promise<readonly Change[]> {
  if (ancestor === undefined) return []
  const rows = await connection.run(sql`
    select dataset, ${LIST_COLUMNS} from changes
    where dataset = ${PRICES_OF_FEED} and chain_id = ${chainId} and block_number > ${ancestor}
      and op = 'add' and not exists (
        select 1 from changes as later
        where later.dataset = ${PRICES_OF_FEED} and later.chain_id = ${chainId}
          and later.block_number = changes.block_number and later.place = changes.place
          and later.token = changes.token and later.tx_hash = changes.tx_hash
          and later.op = 'retract' and later.sequence > changes.sequence)`)
  const lost = rows.map(toFeedEvent)
  return lost.sort((a, b) => byPlace(b, a)).map((event) => ({ op: 'retract', event }))
}

async function listChanges(
  connection: Connection,
  book: PriceBook,
  { changes, chainId, ancestor = 0 }: FedCommit,
  newestUnix: number,
): Promise<readonly Change[]> {
  // Where the newest price left the chain, no log stands for what holds now.
  const nowhere = { ...NOWHERE, chainId, blockNumber: ancestor }
  const unpriced = new Map([...changes.unpriced].map((symbol) => [symbol, nowhere]))
  const [priced, priceless] = await allEnded([
    pricesNow(connection, book, changes.priced, newestUnix),
    pricesNow(connection, book, unpriced, newestUnix),
  ])
  const listOf = (op: Op, events: readonly FeedEvent[]) => events.map((event) => ({ op, event }))
  return [
    ...listOf(
      'retract',
      changes.removed.toSorted((a, b) => byPlace(b, a)),
    ),
    ...listOf('add', changes.added.toSorted(byPlace)),
    ...listOf('update', changes.valued.toSorted(byPlace)),
    ...listOf('add', priced),
    ...listOf('update', priceless),
  ]
}

const NOWHERE = {
  place: 0,
  txHash: '0x',
  timestamp: 0,
  kind: '',
  token: '',
  account: null,
  amount: 0n,
  detail: null,
  usd: null,
} as const

/** Returns the price of every token whose dollar price depends on them, with the newest log that moved it. */
async function pricesNow(
  connection: Connection,
  book: PriceBook,
  moved: ReadonlyMap<string, EventPlace>,
  newestUnix: number,
): Promise<readonly FeedEvent[]> {
  const afterAll = { unix: newestUnix, chainId: null, blockNumber: 0 }
  const byToken = new Map<string, EventPlace>()
  for (const [symbol, log] of moved)
    for (const token of book.dependents(symbol)) setNewest(byToken, token, log)
  const list = [...byToken].map(async ([token, log]) => {
    const [price] = await book.pricesAt(connection, token, [afterAll])
    const { chainId, blockNumber, place, txHash, timestamp } = log
    const at = { chainId, blockNumber, place, txHash, timestamp }
    const detail = price?.toString() ?? null
    return { ...NOWHERE, ...at, dataset: PRICES_OF_FEED, kind: 'price', token, detail }
  })
  return allEnded(list)
}

function setNewest(map: Map<string, EventPlace>, key: string, log: EventPlace): void {
  const known = map.get(key)
  if (known === undefined || byPlace(log, known) >= 0) map.set(key, log)
}

async function readHeights(connection: Connection) {
  const found = await connection.run(sql`select chain_id, number, timestamp_unix from positions`)
  return {
    numbers: new Map(
      found.map((row) => [column.integer(row, 'chain_id'), column.integer(row, 'number')]),
    ),
    newestUnix: Math.max(...found.map((row) => column.integer(row, 'timestamp_unix'))),
  }
}

const CHANGES: BulkInsert = {
  table: 'changes',
  columns: {
    sequence: 'bigint',
    op: 'text',
    dataset: 'text',
    chain_id: 'bigint',
    block_number: 'bigint',
    place: 'bigint',
    tx_hash: 'text',
    timestamp_unix: 'bigint',
    kind: 'text',
    token: 'text',
    account: 'text',
    amount: 'text',
    detail: 'text',
    usd: 'text',
    written_unix: 'bigint',
  },
}

/** A commit with more is a reset: reading the lists again is cheaper for everyone. */
const CHANGES_MAX = 10_000

/** What a commit changes, for the feed. */
export class Changes {
  readonly added: FeedEvent[] = []
  readonly valued: FeedEvent[] = []
  readonly removed: FeedEvent[] = []
  /** The newest log that moved the price of a symbol. */
  readonly priced = new Map<string, EventPlace>()
  readonly unpriced = new Set<string>()
  /** The lowest changed block of each chain, however many changes there are. */
  readonly touched = new Map<number, number>()

  get areTooMany(): boolean {
    return this.added.length + this.valued.length + this.removed.length > CHANGES_MAX
  }

  add(
    dataset: string,
    facts: readonly EventFact[],
    values: readonly (MicroUsd | null | undefined)[],
  ): void {
    for (const [index, { log, kind, token, account, amount, detail }] of facts.entries()) {
      const { chainId, blockNumber, txHash, timestamp } = log
      const at = { chainId, blockNumber, place: toPlace(log), txHash, timestamp }
      const usd = values[index] ?? null
      this.#note(this.added, { dataset, ...at, kind, token, account, amount, detail, usd })
    }
  }

  remove(dataset: string, rows: readonly Row[]): void {
    for (const row of rows) this.#note(this.removed, { dataset, ...toListed(row) })
  }

  /** The row is as it was before it got the value. */
  value(row: Row, usd: MicroUsd): void {
    this.#note(this.valued, { ...toFeedEvent(row), usd })
  }

  price(
    facts: readonly {
      readonly symbol: string
      readonly log: Omit<EventPlace, 'place'> & Parameters<typeof toPlace>[0]
    }[],
  ): void {
    for (const { symbol, log } of facts)
      setNewest(this.priced, symbol, { ...log, place: toPlace(log) })
  }

  #note(list: FeedEvent[], event: FeedEvent): void {
    const { chainId, blockNumber } = event
    const lowest = this.touched.get(chainId) ?? blockNumber
    this.touched.set(chainId, Math.min(lowest, blockNumber))
    if (!this.areTooMany) list.push(event)
  }
}

function byPlace(a: EventPlace, b: EventPlace): number {
  return a.timestamp - b.timestamp || a.blockNumber - b.blockNumber || a.place - b.place
}
