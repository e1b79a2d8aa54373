import type { Address, Hash } from '#base/address.ts'
import { chunks } from '#base/async.ts'
import type { Connection } from '#db/engine.ts'
import { column, empty, join, type Row, type Sql, sql } from '#db/sql.ts'

export interface EventPlace {
  readonly chainId: number
  readonly blockNumber: number
  /** The order within the block (`placeOf`). */
  readonly place: number
  readonly txHash: Hash
  readonly timestamp: number
}

export interface ListedEvent extends EventPlace {
  readonly kind: string
  readonly token: string
  readonly account: Address | null
  readonly amount: bigint
  readonly detail: string | null
  /** The value at the event; null without a price. */
  readonly usd: bigint | null
}

export interface EventKey {
  readonly timestamp: number
  readonly chainId: number
  readonly blockNumber: number
  readonly place: number
}

export interface EventQuery {
  readonly dataset: string
  readonly limit: number
  readonly chainIds: readonly number[]
  readonly chainId?: number
  readonly token?: string
  readonly account?: Address
  readonly kind?: string
  /** Unix seconds; both ends are included. */
  readonly fromUnix?: number
  readonly toUnix?: number
  readonly after?: EventKey
}

/** Newest first; one extra row shows whether more follow. */
export async function listEvents(
  connection: Connection,
  query: EventQuery,
): Promise<{ readonly events: readonly ListedEvent[]; readonly next: EventKey | null }> {
  const found = await connection.run(
    isOrderedByOneIndex(query) ? newest(query) : newestByChain(query),
  )
  const events = found.slice(0, query.limit).map(toListed)
  const last = events.at(-1)
  const next = found.length > query.limit && last !== undefined ? toKey(last) : null
  return { events, next }
}

export const LIST_COLUMNS = sql`
  chain_id, block_number, place, tx_hash, timestamp_unix, kind, token, account, amount, detail, usd`

/** A single index gives the order. */
function isOrderedByOneIndex({ account, token, chainId }: EventQuery): boolean {
  if (account !== undefined && token !== undefined) return true
  return token === undefined && chainId === undefined
}

/** `chain_id + 0` keeps the planner off the chain's index. */
function newest(query: EventQuery): Sql {
  const { account, token, chainId, after } = query
  return sql`
    select ${LIST_COLUMNS} from events
    where dataset = ${query.dataset}
      ${account === undefined ? empty : sql`and account = ${account}`}
      ${token === undefined ? empty : sql`and token = ${token}`}
      ${chainId === undefined ? empty : sql`and chain_id + 0 = ${chainId}`}
      ${ofKindAndTime(query)}
      ${after === undefined ? empty : afterKey(after)}
    order by timestamp_unix desc, chain_id desc, block_number desc, place desc
    limit ${query.limit + 1}`
}

/** A token may have few events, so lists per chain are merged. */
function newestByChain(query: EventQuery): Sql {
  const chainIds = query.chainId === undefined ? query.chainIds : [query.chainId]
  const lists = chainIds.map(
    (each) => sql`select * from (${selectNewest(each, query)}) as of_chain`,
  )
  const groups = chunks(lists, SELECTS_MAX).map(
    (group) => sql`select * from (${join(group, ' union all ')}) as of_chains`,
  )
  return sql`
    ${join(groups, ' union all ')}
    order by timestamp_unix desc, chain_id desc, block_number desc, place desc
    limit ${query.limit + 1}`
}

/** SQLite allows 500 selects per union, and flattens nested unions. */
const SELECTS_MAX = 100

function selectNewest(chainId: number, query: EventQuery): Sql {
  const { account, token, after } = query
  return sql`
    select ${LIST_COLUMNS} from events
    where dataset = ${query.dataset} and chain_id = ${chainId}
      ${account === undefined ? empty : sql`and account = ${account}`}
      ${token === undefined ? empty : sql`and token = ${token}`}
      ${ofKindAndTime(query)}
      ${after === undefined ? empty : afterKeyOn(chainId, after)}
    order by timestamp_unix desc, block_number desc, place desc
    limit ${query.limit + 1}`
}

function ofKindAndTime({ kind, fromUnix, toUnix }: EventQuery): Sql {
  return sql`
    ${kind === undefined ? empty : sql`and kind = ${kind}`}
    ${fromUnix === undefined ? empty : sql`and timestamp_unix >= ${fromUnix}`}
    ${toUnix === undefined ? empty : sql`and timestamp_unix <= ${toUnix}`}`
}

function afterKey({ timestamp, chainId, blockNumber, place }: EventKey): Sql {
  return sql`and (timestamp_unix, chain_id, block_number, place)
    < (${timestamp}, ${chainId}, ${blockNumber}, ${place})`
}

function afterKeyOn(chainId: number, after: EventKey): Sql {
  const { timestamp, blockNumber, place } = after
  if (chainId < after.chainId) return sql`and timestamp_unix <= ${timestamp}`
  if (chainId > after.chainId) return sql`and timestamp_unix < ${timestamp}`
  return sql`and (timestamp_unix, block_number, place)
    < (${timestamp}, ${blockNumber}, ${place})`
}

function toKey(event: ListedEvent): EventKey {
  const { timestamp, chainId, blockNumber, place } = event
  return { timestamp, chainId, blockNumber, place }
}

export function toListed(row: Row): ListedEvent {
  return {
    chainId: column.integer(row, 'chain_id'),
    blockNumber: column.integer(row, 'block_number'),
    place: column.integer(row, 'place'),
    txHash: column.hex(row, 'tx_hash'),
    timestamp: column.integer(row, 'timestamp_unix'),
    kind: column.text(row, 'kind'),
    token: column.text(row, 'token'),
    account: row.account === null ? null : column.hex(row, 'account'),
    amount: column.bigint(row, 'amount'),
    detail: column.textOrNull(row, 'detail'),
    usd: column.bigintOrNull(row, 'usd'),
  }
}
