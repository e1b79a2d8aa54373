import type { Address, Hash } from '#domain/address.ts'
import type { Connection, Row } from '#store/engine.ts'
import { column } from '#store/row.ts'
import { empty, type Sql, sql } from '#store/sql.ts'

/** A stored event as lists show it. */
export interface ListedEvent {
  readonly chainId: number
  readonly blockNumber: number
  readonly logIndex: number
  readonly txHash: Hash
  /** Unix seconds. */
  readonly timestamp: number
  readonly kind: string
  readonly token: string
  readonly account: Address | null
  readonly amount: bigint
  readonly detail: string | null
  /** Micro-USD at the time of the event, null without a price. */
  readonly usd: bigint | null
}

/** The last key of a page: newest first, unique. */
export interface EventKey {
  readonly timestamp: number
  readonly chainId: number
  readonly blockNumber: number
  readonly logIndex: number
}

export interface EventQuery {
  readonly dataset: string
  readonly limit: number
  readonly chainId?: number
  readonly token?: string
  readonly account?: Address
  readonly kind?: string
  /** Unix seconds, both included. */
  readonly fromUnix?: number
  readonly toUnix?: number
  readonly after?: EventKey
}

/** One page of events, newest first; asks for one more than the limit to know whether more follow. */
export async function listEvents(
  connection: Connection,
  query: EventQuery,
): Promise<{ readonly events: readonly ListedEvent[]; readonly next: EventKey | null }> {
  const found = await connection.run(sql`
    select chain_id, block_number, log_index, tx_hash, timestamp_unix, kind, token, account, amount, detail, usd
    from events
    where dataset = ${query.dataset} ${filtersOf(query)} ${afterKey(query.after)}
    order by timestamp_unix desc, chain_id desc, block_number desc, log_index desc
    limit ${query.limit + 1}`)
  const events = found.slice(0, query.limit).map(toListed)
  const last = events.at(-1)
  const next = found.length > query.limit && last !== undefined ? keyOf(last) : null
  return { events, next }
}

/**
 * An account has few events and a chain or token has most of them: beside an account these two are
 * made expressions, which no index serves, so that the account's own index is taken.
 */
function filtersOf(query: EventQuery): Sql {
  const chainId = query.account === undefined ? sql`chain_id` : sql`chain_id + 0`
  const token = query.account === undefined ? sql`token` : sql`token || ''`
  return sql`
    ${query.chainId === undefined ? empty : sql`and ${chainId} = ${query.chainId}`}
    ${query.token === undefined ? empty : sql`and ${token} = ${query.token}`}
    ${query.account === undefined ? empty : sql`and account = ${query.account}`}
    ${query.kind === undefined ? empty : sql`and kind = ${query.kind}`}
    ${query.fromUnix === undefined ? empty : sql`and timestamp_unix >= ${query.fromUnix}`}
    ${query.toUnix === undefined ? empty : sql`and timestamp_unix <= ${query.toUnix}`}`
}

function afterKey(after: EventKey | undefined): Sql {
  if (after === undefined) return empty
  return sql`and (timestamp_unix, chain_id, block_number, log_index)
    < (${after.timestamp}, ${after.chainId}, ${after.blockNumber}, ${after.logIndex})`
}

function keyOf(event: ListedEvent): EventKey {
  const { timestamp, chainId, blockNumber, logIndex } = event
  return { timestamp, chainId, blockNumber, logIndex }
}

function toListed(row: Row): ListedEvent {
  return {
    chainId: column.integer(row, 'chain_id'),
    blockNumber: column.integer(row, 'block_number'),
    logIndex: column.integer(row, 'log_index'),
    txHash: column.hex(row, 'tx_hash'),
    timestamp: column.integer(row, 'timestamp_unix'),
    kind: column.text(row, 'kind'),
    token: column.text(row, 'token'),
    account: row.account === null ? null : column.hex(row, 'account'),
    amount: column.u256(row, 'amount'),
    detail: column.textOrNull(row, 'detail'),
    usd: column.u256OrNull(row, 'usd'),
  }
}
