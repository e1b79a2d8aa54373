import { randomBytes } from 'node:crypto'
import { allEnded } from '#base/async.ts'
import { type Log, placeOf } from '#base/chain.ts'
import type { MicroUsd } from '#base/money.ts'
import { DAY_SECONDS } from '#base/time.ts'
import type { BulkInsert, Connection } from '#db/engine.ts'
import { column, type Row, type SqlValue, sql, toStored } from '#db/sql.ts'
import type { PriceBook } from '../events/fold-events.ts'
import { type EventPlace, toListed } from '../events/list-events.ts'
import type { EventFact } from '../events/sums.ts'
import { readFinalTimes } from '../positions.ts'
import {
  type FeedEvent,
  type FeedState,
  type Op,
  PRICES_OF_FEED,
  pricesIn,
  readFeedState,
  toFeedEvent,
} from './read-feed.ts'

const KEPT_SECONDS = 7 * DAY_SECONDS

/** About 500 MB. */
const KEPT_MAX = 1_000_000

/** Rows are pruned in lots, so that few commits delete. */
const PRUNE_LOT = 1_000

const NAME = 'register'

export interface FedCommit {
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
  const { chainId, changes, finalizedBefore, isHistory = false, nowUnix } = commit
  const heights = await readHeights(connection)
  const to = heights.numbers.get(chainId) ?? -1
  const state = await readFeedState(connection)
  if (state === undefined && isHistory) return
  const list =
    state === undefined
      ? [resetOf(chainId, { from: 0, to })]
      : changes.areTooMany
        ? [...changes.touched].map(([id, lowest]) =>
            resetOf(id, { from: lowest, to: heights.numbers.get(id) ?? -1 }),
          )
        : await listChanges(connection, book, { ...commit, newestUnix: heights.newestUnix })
  const whole = isHistory
    ? [resetOf(chainId, { from: finalizedBefore + 1, to }), ...list]
    : [
        ...(await lostPriceChanges(connection, commit)),
        ...list,
        ...(await finalizedChange(connection, commit)),
      ]
  if (whole.length === 0) return
  await append(connection, state ?? (await start(connection)), {
    list: whole,
    nowUnix,
    finalized: heights.finalized,
  })
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
  input: {
    readonly list: readonly Change[]
    readonly nowUnix: number
    readonly finalized: ReadonlyMap<number, number>
  },
): Promise<void> {
  const { list, nowUnix, finalized } = input
  const last = before + list.length
  await connection.run(sql`update feed set last = ${last} where name = ${NAME}`)
  const rows = list.map((each, index): NewRow => {
    return { ...each, sequence: before + 1 + index, isFinal: isFinal(each, finalized), nowUnix }
  })
  const values = Object.values(COLUMNS)
  await connection.insert(
    CHANGES,
    rows.map((row) => values.map(([, read]) => read(row))),
  )
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

function resetOf(
  chainId: number,
  { from, to }: { readonly from: number; readonly to: number },
): Change {
  const event = { ...NOWHERE, dataset: '', chainId, blockNumber: to, detail: String(from) }
  return { op: 'reset', event }
}

async function finalizedChange(
  connection: Connection,
  { chainId, finalizedBefore, finalizedNumber }: FedCommit,
): Promise<readonly Change[]> {
  if (finalizedNumber <= finalizedBefore) return []
  const timestamp = await finalOnAllChains(connection)
  const at = { ...NOWHERE, dataset: '', chainId, blockNumber: finalizedNumber, timestamp }
  return [{ op: 'finalized', event: { ...at, detail: String(finalizedBefore) } }]
}

/** Unix time; zero while a chain's newest final block is not stored. */
export async function finalOnAllChains(connection: Connection): Promise<number> {
  const times = [...(await readFinalTimes(connection)).values()]
  return times.length === 0 ? 0 : Math.max(0, Math.min(...times))
}

/** Prices of blocks that left the chain. */
async function lostPriceChanges(
  connection: Connection,
  { chainId, ancestor }: FedCommit,
): Promise<readonly Change[]> {
  if (ancestor === undefined) return []
  const above = { chainId, from: ancestor, to: Number.MAX_SAFE_INTEGER }
  const lost = (await connection.run(pricesIn(above))).map(toFeedEvent)
  return lost.sort((a, b) => byPlace(b, a)).map((event) => ({ op: 'retract', event }))
}

async function listChanges(
  connection: Connection,
  book: PriceBook,
  commit: FedCommit & { readonly newestUnix: number },
): Promise<readonly Change[]> {
  const { changes, newestUnix } = commit
  const [priced, unpriced] = await allEnded([
    pricesNow(connection, book, { moved: changes.priced, newestUnix }),
    pricesNow(connection, book, { moved: lostPrices(commit), newestUnix }),
  ])
  const removed = [...changes.removed].sort((a, b) => byPlace(b, a))
  return [
    ...removed.map((event) => ({ op: 'retract', event }) as const),
    ...changes.added.map((event) => ({ op: 'add', event }) as const),
    ...changes.valued.map((event) => ({ op: 'update', event }) as const),
    ...priced.map((event) => ({ op: 'add', event }) as const),
    ...unpriced.map((event) => ({ op: 'update', event }) as const),
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

/** Symbols whose newest price left the chain; no log stands for what holds now. */
function lostPrices({ chainId, changes, ancestor }: FedCommit): ReadonlyMap<string, PriceLog> {
  const log = { ...NOWHERE, chainId, blockNumber: ancestor ?? 0 }
  return new Map([...changes.unpriced].map((symbol) => [symbol, { symbol, log }]))
}

/** Returns the price of every token whose dollar price depends on them, with the newest log that moved it. */
async function pricesNow(
  connection: Connection,
  book: PriceBook,
  {
    moved,
    newestUnix,
  }: { readonly moved: ReadonlyMap<string, PriceLog>; readonly newestUnix: number },
): Promise<readonly FeedEvent[]> {
  const afterAll = { unix: newestUnix, chainId: null, blockNumber: 0 }
  const byToken = new Map<string, PriceLog>()
  for (const each of moved.values())
    for (const token of book.dependents(each.symbol)) {
      const known = byToken.get(token)
      if (known === undefined || isNewer(each, known)) byToken.set(token, each)
    }
  const list = [...byToken].map(async ([token, { log }]) => {
    const [price] = await book.pricesAt(connection, token, [afterAll])
    const { chainId, blockNumber, place, txHash, timestamp } = log
    const at = { chainId, blockNumber, place, txHash, timestamp }
    const detail = price?.toString() ?? null
    return { ...NOWHERE, ...at, dataset: PRICES_OF_FEED, kind: 'price', token, detail }
  })
  return allEnded(list)
}

async function readHeights(connection: Connection) {
  const found = await connection.run(
    sql`select chain_id, number, finalized_number, timestamp_unix from positions`,
  )
  const byChain = (name: string) =>
    new Map(found.map((row) => [column.integer(row, 'chain_id'), column.integer(row, name)]))
  return {
    numbers: byChain('number'),
    finalized: byChain('finalized_number'),
    newestUnix: Math.max(...found.map((row) => column.integer(row, 'timestamp_unix'))),
  }
}

interface NewRow extends Change {
  readonly sequence: number
  readonly isFinal: boolean
  readonly nowUnix: number
}

const COLUMNS: Readonly<Record<string, readonly ['bigint' | 'text', (row: NewRow) => SqlValue]>> = {
  sequence: ['bigint', ({ sequence }) => sequence],
  op: ['text', ({ op }) => op],
  dataset: ['text', ({ event }) => event.dataset],
  chain_id: ['bigint', ({ event }) => event.chainId],
  block_number: ['bigint', ({ event }) => event.blockNumber],
  place: ['bigint', ({ event }) => event.place],
  tx_hash: ['text', ({ event }) => event.txHash],
  timestamp_unix: ['bigint', ({ event }) => event.timestamp],
  kind: ['text', ({ event }) => event.kind],
  token: ['text', ({ event }) => event.token],
  account: ['text', ({ event }) => event.account],
  amount: ['text', ({ event }) => toStored(event.amount)],
  detail: ['text', ({ event }) => event.detail],
  usd: ['text', ({ event: { usd } }) => (usd === null ? null : toStored(usd))],
  final: ['bigint', ({ isFinal }) => Number(isFinal)],
  written_unix: ['bigint', ({ nowUnix }) => nowUnix],
}

const CHANGES: BulkInsert = {
  table: 'changes',
  columns: Object.fromEntries(Object.entries(COLUMNS).map(([name, [type]]) => [name, type])),
}

/** Readers of final events get it too. */
function isFinal({ op, event }: Change, finalized: ReadonlyMap<number, number>): boolean {
  if (op === 'update') return event.blockNumber <= (finalized.get(event.chainId) ?? -1)
  return op === 'finalized' || op === 'reset'
}

interface PriceLog {
  readonly symbol: string
  readonly log: EventPlace
}

type PriceFact = Omit<PriceLog, 'log'> & {
  readonly log: Omit<EventPlace, 'place'> & Pick<Log, 'txIndex' | 'logIndex'>
}

/** A commit with more is a reset: reading the lists again is cheaper for everyone. */
const CHANGES_MAX = 10_000

export class Changes {
  readonly #added: FeedEvent[] = []
  readonly #valued: FeedEvent[] = []
  readonly removed: FeedEvent[] = []
  readonly priced = new Map<string, PriceLog>()
  readonly unpriced = new Set<string>()
  /** The lowest changed block of each chain, however many changes there are. */
  readonly touched = new Map<number, number>()

  get areTooMany(): boolean {
    return this.#added.length + this.#valued.length + this.removed.length > CHANGES_MAX
  }

  add(
    dataset: string,
    facts: readonly EventFact[],
    values: readonly (MicroUsd | null | undefined)[],
  ): void {
    for (const [index, { log, kind, token, account, amount, detail }] of facts.entries()) {
      this.#touch(log)
      if (this.areTooMany) continue
      const { chainId, blockNumber, txHash, timestamp } = log
      const at = { chainId, blockNumber, place: placeOf(log), txHash, timestamp }
      const usd = values[index] ?? null
      this.#added.push({ dataset, ...at, kind, token, account, amount, detail, usd })
    }
  }

  remove(dataset: string, rows: readonly Row[]): void {
    for (const row of rows) {
      const event = { dataset, ...toListed(row) }
      this.#touch(event)
      if (!this.areTooMany) this.removed.push(event)
    }
  }

  /** The row is as it was before it got the value. */
  value(row: Row, usd: MicroUsd): void {
    const event = toFeedEvent(row)
    this.#touch(event)
    if (!this.areTooMany) this.#valued.push({ ...event, usd })
  }

  price(facts: readonly PriceFact[]): void {
    for (const { symbol, log } of facts) {
      const each = { symbol, log: { ...log, place: placeOf(log) } }
      const known = this.priced.get(each.symbol)
      if (known === undefined || isNewer(each, known)) this.priced.set(each.symbol, each)
    }
  }

  #touch({ chainId, blockNumber }: Pick<EventPlace, 'chainId' | 'blockNumber'>): void {
    const lowest = this.touched.get(chainId) ?? blockNumber
    this.touched.set(chainId, Math.min(lowest, blockNumber))
  }

  get added(): readonly FeedEvent[] {
    return this.#added.toSorted(byPlace)
  }

  get valued(): readonly FeedEvent[] {
    return this.#valued.toSorted(byPlace)
  }
}

function byPlace(
  a: Pick<EventPlace, 'timestamp' | 'blockNumber' | 'place'>,
  b: Pick<EventPlace, 'timestamp' | 'blockNumber' | 'place'>,
): number {
  return a.timestamp - b.timestamp || a.blockNumber - b.blockNumber || a.place - b.place
}

function isNewer(a: PriceLog, b: PriceLog): boolean {
  return byPlace(a.log, b.log) >= 0
}
