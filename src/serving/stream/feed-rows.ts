import { placeMembers, toListRow } from '#chains/datasets/event-lists.ts'
import { readStatus } from '#chains/datasets/file-parts.ts'
import type { Ecosystem } from '#chains/ecosystem/ecosystem.ts'
import type { FeedEvent } from '#chains/indexer/feed/changes.ts'
import { type FeedCursor, showCursor } from '#chains/indexer/feed/cursor.ts'
import { type FeedChange, type PageInput, readPage } from '#chains/indexer/feed/read-feed.ts'
import { PRICES_OF_FEED } from '#chains/indexer/feed/read-range.ts'
import type { IndexStatus } from '#chains/indexer/status.ts'
import { kindLists } from '#chains/kinds/endpoints.ts'
import { eventKinds } from '#chains/kinds/kinds.ts'
import type { Context } from '#context.ts'
import { toUsdPrice, toUsdPriceExact } from '#domain/money.ts'
import type { Connection } from '#store/engine.ts'
import { type Decimal, type Filter, PRICE } from './stream-parameters.ts'

/** Datasets whose rows a list shows. */
const LISTED: readonly string[] = eventKinds.map(({ dataset }) => dataset)

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

/** Shows a price with the place of its log, unless a reorg restored it. */
function toPriceRow(event: FeedEvent, { status }: Place): object {
  const price = event.detail === null ? null : BigInt(event.detail)
  const usd = price === null ? null : toUsdPrice(price)
  const usdExact = price === null ? null : toUsdPriceExact(price)
  if (event.txHash === '0x') return { id: event.token, token: event.token, usd, usdExact }
  const place = placeMembers(event, status)
  return { ...place, id: `${place.id}:${event.token}`, token: event.token, usd, usdExact }
}

const streamedBy = new Map(eventKinds.map(({ dataset, streamed }) => [dataset, streamed]))

function kindOf({ dataset, kind }: FeedEvent): string | undefined {
  return dataset === PRICES_OF_FEED ? PRICE : streamedBy.get(dataset)?.[kind]
}

export interface Shown {
  readonly change: FeedChange
  readonly kind: string | undefined
  /** Its data, written once for all readers; undefined for what the file no longer has. */
  readonly json: (() => string) | undefined
  /** The token's decimals; prices have no amount. */
  readonly decimals: number | undefined
}

export interface ShownItem extends Shown {
  /** The cursor after this event. */
  readonly cursor: FeedCursor
}

interface Page {
  readonly items: readonly ShownItem[]
  readonly next: FeedCursor
  /** Server-sent events of all items; made once, since most readers of a page have no filter. */
  readonly whole: () => Buffer | ''
}

export type ShownPage = Page | 'ahead' | 'gone'

/**
 * Changes after a cursor as a stream and a webhook show them. `ahead` also while the register is
 * built from another file than this process has, which may not know what changed.
 */
export async function readShown(
  { ecosystem }: Pick<Context, 'ecosystem'>,
  reads: Connection,
  input: Omit<PageInput, 'datasets'>,
): Promise<ShownPage> {
  const page = await readPage(reads, { ...input, datasets: LISTED })
  if (typeof page === 'string') return page
  if (page.items.length === 0) return makePage([], page.next)
  const status = await readStatus({ ecosystem }, reads)
  if (status === undefined) return makePage([], input.cursor)
  if (status.otherParts.length > 0) return 'ahead'
  const items = page.items.map(({ change, cursor }) => ({
    ...show({ status, ecosystem }, change),
    cursor,
  }))
  return makePage(items, page.next)
}

function makePage(items: readonly ShownItem[], next: FeedCursor): Page {
  const whole = once((): Buffer | '' => {
    const text = eventsText(items)
    return text === '' ? '' : Buffer.from(text)
  })
  return { items, next, whole }
}

const NOTHING = { kind: undefined, json: undefined, decimals: undefined }

function show({ status, ecosystem }: Place, change: FeedChange): Shown {
  const { op, event } = change
  const { chainId, blockNumber, token } = event
  const chain = status.chains.find((each) => each.chain.id === chainId)?.chain
  if (op === 'reset') {
    const range = { fromBlock: Number(event.detail), toBlock: blockNumber < 0 ? null : blockNumber }
    const reset = { reason: 'changed_otherwise', chain: chain?.name ?? null, chainId, ...range }
    return { ...NOTHING, change, json: jsonOnce(() => reset) }
  }
  if (chain === undefined) return { ...NOTHING, change }
  if (op === 'finalized') {
    const json = jsonOnce(() => ({ chain: chain.name, chainId, blockNumber }))
    return { ...NOTHING, change, json }
  }
  const kind = kindOf(event)
  const known = ecosystem.tokens.find(({ symbol }) => symbol === token)
  const toOwn = toRow[event.dataset]
  if (kind === undefined || known === undefined || toOwn === undefined)
    return { ...NOTHING, change, kind }
  const json = jsonOnce(() => ({ kind, row: toOwn(event, { status, ecosystem }) }))
  return { change, kind, json, decimals: kind === PRICE ? undefined : known.decimals }
}

function jsonOnce(data: () => object): () => string {
  return once(() => JSON.stringify(data()))
}

function once<T>(make: () => T): () => T {
  let made: T | undefined
  return () => {
    made ??= make()
    return made
  }
}

/** A `reset` of everything: what the reader has may be wrong on any chain. */
export const WHOLE = {
  reason: 'cursor_not_kept',
  chain: null,
  chainId: null,
  fromBlock: null,
  toBlock: null,
} as const

/** Omits the blank line that ends an event, so that an id can follow. */
export function eventText(event: string, json: string): string {
  return `event: ${event}\ndata: ${json}\n`
}

/** Ends the event. Without data it only moves the client's cursor. */
export function withId(text: string, cursor: FeedCursor): string {
  return `${text}id: ${showCursor(cursor)}\n\n`
}

/** What the filter lets through of a page. */
export function pageText({ items, whole }: Page, filter: Filter): Buffer | string {
  const { finality: _, ...conditions } = filter
  if (Object.values(conditions).every((each) => each === undefined)) return whole()
  return eventsText(items.filter((each) => matches(filter, each)))
}

function eventsText(items: readonly ShownItem[]): string {
  return items
    .map(({ change, json, cursor }) =>
      json === undefined ? '' : withId(eventText(change.op, json()), cursor),
    )
    .join('')
}

/** `finalized` and `reset` have no kind and no token. */
export function matches(
  { kind, token, chain, address, leastAmount, leastUsd }: Filter,
  { change, kind: own, json, decimals }: Shown,
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
