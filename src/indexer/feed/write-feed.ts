import { randomBytes } from 'node:crypto'
import { allEnded } from '#lib/all-ended.ts'
import { toStored } from '#lib/stored-integer.ts'
import type { BulkInsert, Connection } from '#store/engine.ts'
import { column } from '#store/row.ts'
import { type SqlValue, sql } from '#store/sql.ts'
import type { PriceBook } from '../events/value-events.ts'
import { byPlace, type Changes, type FeedEvent, isNewer, type PriceLog } from './changes.ts'
import { type Op, PRICES_OF_FEED, pricesAbove } from './read-feed.ts'

/** Hours to days of a busy ecosystem, at most about 50 MB. */
const KEPT_MAX = 100_000

/** Pruned in lots, so that few commits delete. */
const PRUNE_LOT = 1_000

const NAME = 'register'

/** A cursor of another epoch starts from the lists again. */
export async function startEpoch(connection: Connection, chainId?: number): Promise<void> {
  const epoch = randomBytes(6).toString('hex')
  await connection.run(sql`
    insert into feed (name, epoch, last, pruned) values (${NAME}, ${epoch}, 0, 0)
    on conflict (name) do update set epoch = excluded.epoch, pruned = feed.last`)
  await connection.run(sql`delete from changes`)
  if (chainId !== undefined)
    await connection.run(sql`delete from feed_gaps where chain_id = ${chainId}`)
}

/** Until the chain's next commit at the head, which starts a new epoch. */
export async function openGap(connection: Connection, chainId: number): Promise<void> {
  await connection.run(sql`
    insert into feed_gaps (chain_id) values (${chainId}) on conflict (chain_id) do nothing`)
}

export interface FedCommit {
  readonly chainId: number
  readonly changes: Changes
  readonly finalizedBefore: number
  readonly finalizedNumber: number
  readonly ancestor?: number | undefined
}

interface Change {
  readonly op: Op
  readonly event: FeedEvent
}

/**
 * In the transaction that changes the rows. The lease, held since its start, makes commits follow
 * one another, so sequences are committed in order.
 */
export async function writeFeed(
  connection: Connection,
  book: PriceBook,
  commit: FedCommit,
): Promise<void> {
  const { chainId } = commit
  const [state] = await connection.run(sql`
    select last, pruned, (select count(*) from feed_gaps where chain_id = ${chainId}) as gaps
    from feed where name = ${NAME}`)
  if (state === undefined || column.integer(state, 'gaps') > 0 || commit.changes.areTooMany)
    return startEpoch(connection, chainId)
  const heights = await readHeights(connection)
  const list = await listChanges(connection, book, { ...commit, nowUnix: heights.nowUnix })
  if (list.length === 0) return
  const before = column.integer(state, 'last')
  const last = before + list.length
  await connection.run(sql`update feed set last = ${last} where name = ${NAME}`)
  await connection.insert(
    CHANGES,
    list.map((each, index) => toRow(before + 1 + index, each, heights.finalized)),
  )
  if (last - column.integer(state, 'pruned') > KEPT_MAX + PRUNE_LOT)
    await prune(connection, last - KEPT_MAX)
}

async function prune(connection: Connection, upTo: number): Promise<void> {
  await connection.run(sql`delete from changes where sequence <= ${upTo}`)
  await connection.run(sql`update feed set pruned = ${upTo} where name = ${NAME}`)
}

async function listChanges(
  connection: Connection,
  book: PriceBook,
  commit: FedCommit & { readonly nowUnix: number },
): Promise<readonly Change[]> {
  const { chainId, changes, ancestor, finalizedBefore, finalizedNumber, nowUnix } = commit
  const lost = ancestor === undefined ? [] : await pricesAbove(connection, chainId, ancestor)
  const [priced, unpriced] = await allEnded([
    pricesNow(connection, book, { moved: changes.priced, nowUnix }),
    pricesNow(connection, book, { moved: lostPrices(commit), nowUnix }),
  ])
  const removed = [...changes.removed, ...lost].sort((a, b) => byPlace(b, a))
  const final = { ...NOWHERE, dataset: '', chainId, blockNumber: finalizedNumber }
  return [
    ...removed.map((event) => ({ op: 'retract', event }) as const),
    ...changes.added.map((event) => ({ op: 'add', event }) as const),
    ...changes.valued.map((event) => ({ op: 'update', event }) as const),
    ...priced.map((event) => ({ op: 'add', event }) as const),
    ...unpriced.map((event) => ({ op: 'update', event }) as const),
    ...(finalizedNumber > finalizedBefore
      ? [{ op: 'finalized', event: { ...final, detail: String(finalizedBefore) } } as const]
      : []),
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

/** Of every token whose dollar price depends on them, with the newest log that moved it. */
async function pricesNow(
  connection: Connection,
  book: PriceBook,
  { moved, nowUnix }: { readonly moved: ReadonlyMap<string, PriceLog>; readonly nowUnix: number },
): Promise<readonly FeedEvent[]> {
  const afterAll = { unix: nowUnix + 1, chainId: 0, blockNumber: 0 }
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
    sql`select chain_id, finalized_number, timestamp_unix from positions`,
  )
  const finalized = new Map(
    found.map((row) => [column.integer(row, 'chain_id'), column.integer(row, 'finalized_number')]),
  )
  return {
    finalized,
    nowUnix: Math.max(...found.map((row) => column.integer(row, 'timestamp_unix'))),
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
    final: 'bigint',
  },
}

function toRow(
  sequence: number,
  { op, event }: Change,
  finalized: ReadonlyMap<number, number>,
): readonly SqlValue[] {
  const isFinal = event.blockNumber <= (finalized.get(event.chainId) ?? -1)
  return [
    sequence,
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
    Number(isFinal),
  ]
}
