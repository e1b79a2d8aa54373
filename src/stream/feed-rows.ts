import { toBurnRow } from '#datasets/burns/routes.ts'
import { toPayoutRow } from '#datasets/dividends/routes.ts'
import { placeMembers, type ToRow } from '#datasets/event-rows.ts'
import { toDigRow } from '#datasets/grave-digs/routes.ts'
import { toUsdPrice, toUsdPriceExact } from '#domain/money.ts'
import type { Ecosystem } from '#ecosystem/ecosystem.ts'
import { BURNS } from '#ecosystem/event-kinds/burns.ts'
import { DIVIDENDS } from '#ecosystem/event-kinds/dividends.ts'
import { GRAVE_DIGS } from '#ecosystem/event-kinds/grave-digs.ts'
import type { FeedEvent } from '#indexer/feed/changes.ts'
import { type FeedChange, PRICES_OF_FEED } from '#indexer/feed/read-feed.ts'
import type { IndexStatus } from '#indexer/status.ts'
import type { Filter, StreamKind } from './stream-parameters.ts'

/** Datasets whose rows a list shows. */
export const LISTED: readonly string[] = [BURNS, DIVIDENDS, GRAVE_DIGS]

const toRow: Readonly<Record<string, ToRow>> = {
  [BURNS]: toBurnRow,
  [DIVIDENDS]: toPayoutRow,
  [GRAVE_DIGS]: toDigRow,
  [PRICES_OF_FEED]: toPriceRow,
}

/** Of every price but one that a reorg restored, which no log stands for, with the log's place. */
function toPriceRow(event: FeedEvent | Parameters<ToRow>[0], status: IndexStatus): object {
  const price = event.detail === null ? null : BigInt(event.detail)
  const usd = price === null ? null : toUsdPrice(price)
  const usdExact = price === null ? null : toUsdPriceExact(price)
  const place = event.txHash === '0x' ? {} : placeMembers(event, status)
  return { token: event.token, usd, usdExact, ...place }
}

function kindOf({ dataset, kind }: FeedEvent): StreamKind | undefined {
  if (dataset === BURNS) return 'burn'
  if (dataset === GRAVE_DIGS) return 'dig'
  if (dataset === PRICES_OF_FEED) return 'price'
  return kind === 'claim' || kind === 'distribution' ? kind : undefined
}

export interface Shown {
  readonly change: FeedChange
  readonly kind: StreamKind | undefined
  readonly text: string
}

export interface ShowDeps {
  readonly status: IndexStatus
  readonly ecosystem: Ecosystem
}

/** Empty text for what this server's file does not know; a re-read and a reset follow. */
export function show({ status, ecosystem }: ShowDeps, change: FeedChange): Shown {
  const { op, event } = change
  const { chainId, blockNumber, token } = event
  const chain = status.chains.find((each) => each.chain.id === chainId)?.chain
  if (op === 'finalized') {
    if (chain === undefined) return { change, kind: undefined, text: '' }
    const text = eventText(op, { chain: chain.name, chainId, blockNumber })
    return { change, kind: undefined, text }
  }
  const kind = kindOf(event)
  const isKnown = chain !== undefined && ecosystem.tokens.some(({ symbol }) => symbol === token)
  const row = isKnown ? toRow[event.dataset]?.(event, status, ecosystem) : undefined
  if (kind === undefined || row === undefined) return { change, kind, text: '' }
  return { change, kind, text: eventText(op, { kind, row }) }
}

/** Without the blank line that ends it, so that an id can follow. */
export function eventText(event: string, data: object): string {
  return `event: ${event}\ndata: ${JSON.stringify(data)}\n`
}

/** Of events; `finalized` has no kind and no token. */
export function matches(
  { kind, token, chain, address }: Filter,
  { change, kind: own }: Shown,
): boolean {
  const { op, event } = change
  if (chain !== undefined && chain.id !== event.chainId) return false
  if (op === 'finalized') return true
  if (address !== undefined && address !== event.account) return false
  return (
    (kind === undefined || kind === own) && (token === undefined || token.symbol === event.token)
  )
}
