import assert from 'node:assert/strict'
import { type TObject, type TProperties, Type } from 'typebox'
import { type Address, showAddress } from '#base/address.ts'
import { chunks } from '#base/async.ts'
import { logIndexAt, rowAt } from '#base/chain.ts'
import { type Refusal, refuse } from '#base/refusal.ts'
import { named } from '#base/schema.ts'
import { toIso } from '#base/time.ts'
import type { Context } from '#context.ts'
import { amountShape, amounts, nullable, toUsdOrNull, unixTime, usdOrNull } from '#data/meta.ts'
import type { Connection } from '#db/engine.ts'
import { empty, join, type Sql, sql } from '#db/sql.ts'
import type { Ecosystem } from '#ecosystem/ecosystem.ts'
import { type EventPlace, LIST_COLUMNS, type ListedEvent, toListed } from '#index/event.ts'
import { type IndexStatus, judgeFinality } from '#index/status.ts'
import type { Route, ValuesOf } from '#route.ts'
import { dataRoute } from './data-route.ts'
import type { PageMeta } from './meta.ts'
import {
  chainParameter,
  checkCursor,
  cursorParameter,
  encodeCursor,
  hashFilters,
  limitParameter,
  timeParameter,
  tokenParameter,
  walletParameter,
} from './parameters.ts'

/** The list of a kind's newest events; the stream shows the same rows. */
export interface EventList {
  readonly kind: {
    readonly dataset: string
    readonly tag: { readonly name: string }
    readonly deed: string
  }
  readonly path: string
  readonly operationId: string
  readonly summary: string
  readonly description: string
  readonly row: TObject
  own(event: ListedEvent): object
}

export function listRoute(ctx: Context, list: EventList): Route {
  const { kind, path, operationId, summary, description, row } = list
  const { dataset, tag, deed } = kind
  return dataRoute(ctx, {
    path,
    operationId,
    tag: tag.name,
    summary,
    description,
    parameters: {
      ...listParameters(ctx.ecosystem),
      address: walletParameter(`Only events of this wallet, which ${deed}.`),
    },
    data: Type.Array(row),
    paged: true,
    csv: { row, rows: (data) => data as readonly object[] },
    refusals: ['invalid_address', 'invalid_cursor'],
    check: ({ address: account, ...values }) => checkList({ dataset, account, values }),
    async read({ connection, status, parameters: { address: account, ...values } }) {
      const { events, page } = await readEventPage(connection, { status, dataset, account, values })
      const place = { status, ecosystem: ctx.ecosystem }
      return { data: events.map((event) => toListRow(list, event, place)), page }
    },
  })
}

export function toListRow(
  list: EventList,
  event: ListedEvent,
  { status, ecosystem }: { readonly status: IndexStatus; readonly ecosystem: Ecosystem },
): object {
  return { ...eventMembers(event, status, ecosystem), ...list.own(event) }
}

export const eventProperties = {
  id: Type.String({
    description:
      '<chainId>:<txHash>:<logIndex>, and :<n> after it for row n ≥ 1 that a mapping with code makes of the log',
  }),
  chain: Type.String(),
  chainId: Type.Integer(),
  blockNumber: Type.Integer(),
  txHash: Type.String({ pattern: '^0x[0-9a-f]{64}$' }),
  logIndex: Type.Integer(),
  timestamp: Type.String({ format: 'date-time' }),
  timestampUnix: unixTime,
  finality: Type.Enum(['latest', 'safe', 'finalized']),
  explorerUrl: nullable(Type.String()),
} as const

export function eventRow<P extends TProperties>(title: string, own: P) {
  return named(title, {
    ...eventProperties,
    token: Type.String(),
    ...amountShape('amount'),
    amountUsdAtEvent: usdOrNull,
    ...own,
  })
}

export function listParameters(ecosystem: Ecosystem) {
  return {
    limit: limitParameter(20),
    chain: chainParameter(ecosystem),
    token: tokenParameter(ecosystem.tokens, undefined),
    from: timeParameter('Events at or after this moment.'),
    to: timeParameter('Events at or before this moment.'),
    cursor: eventCursor,
  }
}

const eventCursor = cursorParameter<EventKey>(
  { pattern: '([0-9]{1,11})\\.([0-9]{1,15})\\.([0-9]{1,15})\\.([0-9]{1,16})', lengthMax: 200 },
  (parts) => {
    const [timestamp = 0, chainId = 0, blockNumber = 0, place = 0] = parts.map(Number)
    return { timestamp, chainId, blockNumber, place }
  },
)

export type ListValues = ValuesOf<ReturnType<typeof listParameters>>

interface List {
  readonly dataset: string
  readonly account?: Address | undefined
  readonly kind?: string
  readonly values: ListValues
}

export function checkList(list: List): Refusal | undefined {
  const { from, to, cursor } = list.values
  if (from !== undefined && to !== undefined && to <= from)
    return refuse('invalid_parameter', 'to must be later than from', {
      errors: [{ in: 'query', name: 'to', reason: 'must be later than from' }],
    })
  return checkCursor(cursor, nameFilters(list))
}

export async function readEventPage(
  connection: Connection,
  input: List & { readonly status: IndexStatus },
): Promise<{ readonly events: readonly ListedEvent[]; readonly page: PageMeta }> {
  const { limit, chain, token, from, to, cursor } = input.values
  const { dataset, account, kind } = input
  const { events, next } = await listEvents(connection, {
    dataset,
    limit,
    chainIds: input.status.chains.map((each) => each.chain.id),
    ...(chain && { chainId: chain.id }),
    ...(token && { token: token.symbol }),
    ...(account && { account }),
    ...(kind && { kind }),
    ...(from !== undefined && { fromUnix: from }),
    ...(to !== undefined && { toUnix: to }),
    ...(cursor && { after: cursor.after }),
  })
  const last = next && [next.timestamp, next.chainId, next.blockNumber, next.place]
  const nextCursor = last && encodeCursor(nameFilters(input), last)
  return { events, page: { limit, count: events.length, nextCursor } }
}

function nameFilters({ dataset, account, kind, values }: List): string {
  const { chain, token, from, to } = values
  return hashFilters([dataset, account, kind, chain?.name, token?.symbol, from, to])
}

export function eventMembers(event: ListedEvent, status: IndexStatus, ecosystem: Ecosystem) {
  const token = ecosystem.tokens.find((each) => each.symbol === event.token)
  assert(token !== undefined, 'an event of an unknown token')
  return {
    ...placeMembers(event, status),
    token: token.symbol,
    ...amounts('amount', event.amount, token.decimals),
    amountUsdAtEvent: toUsdOrNull(event.usd),
  }
}

export function placeMembers(event: EventPlace, status: IndexStatus) {
  const known = status.chains.find((each) => each.chain.id === event.chainId)
  assert(known !== undefined, 'an event of an unknown chain')
  const { chain } = known
  const logIndex = logIndexAt(event.place)
  const row = rowAt(event.place)
  return {
    id: `${event.chainId}:${event.txHash}:${logIndex}${row === 0 ? '' : `:${row}`}`,
    chain: chain.name,
    chainId: event.chainId,
    blockNumber: event.blockNumber,
    txHash: event.txHash,
    logIndex,
    timestamp: toIso(event.timestamp),
    timestampUnix: event.timestamp,
    finality: judgeFinality(known, event.blockNumber),
    explorerUrl: chain.explorerUrl === null ? null : `${chain.explorerUrl}/tx/${event.txHash}`,
  }
}

export function showAccount(event: ListedEvent): string | null {
  return event.account === null ? null : showAddress(event.account)
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
