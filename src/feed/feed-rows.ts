import { toUsdPrice, toUsdPriceExact } from '#base/money.ts'
import type { Context } from '#context.ts'
import { kindLists } from '#data/endpoints.ts'
import { placeMembers, toListRow } from '#data/event-lists.ts'
import { eventKinds } from '#data/kinds.ts'
import type { Connection } from '#db/engine.ts'
import type { Ecosystem } from '#ecosystem/ecosystem.ts'
import {
  type FeedChange,
  type FeedCursor,
  type FeedEvent,
  type FeedItem,
  type PageInput,
  PRICES_OF_FEED,
  readPage,
  showCursor,
} from '#index/feed.ts'
import { type IndexStatus, readIndexStatus } from '#index/status.ts'
import { type Decimal, type Filter, PRICE } from './stream-parameters.ts'

interface Place {
  readonly status: IndexStatus
  readonly ecosystem: Ecosystem
}

const toRow: Readonly<Record<string, (event: FeedEvent, at: Place) => object>> = {
  ...Object.fromEntries(
    kindLists.map((list) => [
      list.kind.dataset,
      (event: FeedEvent, at: Place) => toListRow(list, event, at),
    ]),
  ),
  [PRICES_OF_FEED]: toPriceRow,
}

/** Adds the place of the price's log, unless a reorg restored an older price. */
function toPriceRow(event: FeedEvent, { status }: Place): object {
  const price = event.detail === null ? null : BigInt(event.detail)
  const usd = price === null ? null : toUsdPrice(price)
  const usdExact = price === null ? null : toUsdPriceExact(price)
  if (event.txHash === '0x') return { id: event.token, token: event.token, usd, usdExact }
  const place = placeMembers(event, status)
  return { ...place, id: `${place.id}:${event.token}`, token: event.token, usd, usdExact }
}

const streamedBy = new Map(eventKinds.map(({ dataset, streamed }) => [dataset, streamed]))

function findKind({ dataset, kind }: FeedEvent): string | undefined {
  return dataset === PRICES_OF_FEED ? PRICE : streamedBy.get(dataset)?.[kind]
}

export interface ShownItem {
  readonly change: FeedChange
  /** The cursor after this event. */
  readonly cursor: FeedCursor
  readonly kind: string | undefined
  /** The token's decimals; undefined for prices, which have no amount. */
  readonly decimals: number | undefined
  /** The event's data as JSON; undefined if the file no longer has its token or chain. */
  readonly json: string | undefined
  /** The event in server-sent form. */
  readonly text: string
}

export type ShownPage = { readonly items: readonly ShownItem[]; readonly next: FeedCursor } | 'lost'

/**
 * Returns the changes after a cursor as streams and webhooks send them. Returns none while the register belongs to
 * another file, because this process may not know what changed.
 */
export async function readShown(
  { ecosystem }: Pick<Context, 'ecosystem'>,
  reads: Connection,
  input: PageInput,
): Promise<ShownPage> {
  const page = await readPage(reads, input)
  if (page === 'lost') return page
  if (page.items.length === 0) return { items: [], next: page.next }
  const status = await readIndexStatus(reads, ecosystem.chains)
  if (status === undefined) return { items: [], next: input.cursor }
  return { items: page.items.map((each) => show({ status, ecosystem }, each)), next: page.next }
}

function show(at: Place, { change, cursor }: FeedItem): ShownItem {
  const { op, event } = change
  const kind = findKind(event)
  const token = at.ecosystem.tokens.find(({ symbol }) => symbol === event.token)
  const data = toData(at, change, kind)
  const json = data && JSON.stringify(data)
  const text = json === undefined ? '' : eventText(op, json, cursor)
  const decimals = kind === PRICE ? undefined : token?.decimals
  return { change, cursor, kind, decimals, json, text }
}

function toData(
  at: Place,
  { op, event }: FeedChange,
  kind: string | undefined,
): object | undefined {
  const { chainId, blockNumber, detail } = event
  const chain = at.status.chains.find((each) => each.chain.id === chainId)?.chain
  if (op === 'reset') {
    const range = { fromBlock: Number(detail), toBlock: blockNumber < 0 ? null : blockNumber }
    return { reason: 'changed_otherwise', chain: chain?.name ?? null, chainId, ...range }
  }
  if (chain === undefined) return undefined
  if (op === 'finalized') return { chain: chain.name, chainId, blockNumber }
  const isKnown = at.ecosystem.tokens.some(({ symbol }) => symbol === event.token)
  const toOwn = toRow[event.dataset]
  if (kind === undefined || !isKnown || toOwn === undefined) return undefined
  return { kind, row: toOwn(event, at) }
}

/** A `reset` of all chains: whatever the reader has may be wrong. */
export const RESET_OF_ALL = {
  reason: 'cursor_not_kept',
  chain: null,
  chainId: null,
  fromBlock: null,
  toBlock: null,
} as const

export function eventText(event: string, json: string, cursor: FeedCursor): string {
  return `event: ${event}\ndata: ${json}\nid: ${showCursor(cursor)}\n\n`
}

/** `finalized` and `reset` have no kind or token, so only the filter's chain applies to them. */
export function matches(
  { kind, token, chain, address, leastAmount, leastUsd }: Filter,
  { change, kind: own, json, decimals }: ShownItem,
): boolean {
  if (json === undefined) return false
  const { op, event } = change
  if (chain !== undefined && chain.id !== event.chainId) return false
  if (op === 'finalized' || op === 'reset') return true
  if (address !== undefined && address !== event.account) return false
  if (!isAtLeast(event.amount, decimals, leastAmount)) return false
  if (!isAtLeast(event.usd, decimals && USD_DECIMALS, leastUsd)) return false
  return (
    (kind === undefined || kind === own) && (token === undefined || token.symbol === event.token)
  )
}

const USD_DECIMALS = 6

function isAtLeast(
  units: bigint | null,
  decimals: number | undefined,
  least: Decimal | undefined,
): boolean {
  if (least === undefined) return true
  if (units === null || decimals === undefined) return false
  return units * 10n ** BigInt(least.decimals) >= least.digits * 10n ** BigInt(decimals)
}
