import { type PricedToken, type PriceSource, quoteOf } from '#chains/ecosystem/priced-token.ts'
import {
  chainPrices,
  PRICE_DECIMALS,
  PRICE_ONE,
  type Price,
  parseDecimal,
  valueAt,
} from '#domain/money.ts'
import { allEnded } from '#lib/async.ts'
import { hasBegun } from './decode.ts'
import type { PricePoint } from './queries.ts'

/**
 * Why a price is unknown. `no_source`: the file names none; `no_event`: none of its events was read
 * yet; `no_liquidity`: nothing can be traded; `low_liquidity`: less than the file asks for; `stale`: the feed is older than allowed.
 */
export const PRICE_GAPS = [
  'no_source',
  'no_event',
  'no_liquidity',
  'low_liquidity',
  'stale',
] as const

export interface UnknownPrice {
  readonly gap: (typeof PRICE_GAPS)[number]
  /** The token on the path to dollars that lacks a price. */
  readonly symbol: string
}

export interface KnownPrice {
  readonly price: Price
  /** Time of its newest input, in Unix seconds; -Infinity for fixed prices. */
  readonly asOfUnix: number
}

type Quoted = KnownPrice | UnknownPrice

/** A point with the source that counts there. */
export interface SourcedPoint extends Pick<PricePoint, 'unix' | 'price' | 'liquidity'> {
  readonly source: PriceSource
}

export function priceOrNull(quoted: Quoted): Price | null {
  return 'gap' in quoted ? null : quoted.price
}

export function tokenOf(tokens: Tokens, symbol: string): PricedToken | undefined {
  const name = symbol.toUpperCase()
  return tokens.find((token) => token.symbol.toUpperCase() === name)
}

type Tokens = readonly PricedToken[]

/** Returns the token, its quotes, their quotes and so on. */
export function pathOf(tokens: Tokens, symbol: string): ReadonlySet<PricedToken> {
  const path = new Set<PricedToken>()
  const add = (token: PricedToken | undefined) => {
    if (token === undefined || path.has(token)) return
    path.add(token)
    for (const source of token.prices) {
      const quote = quoteOf(source)
      if (quote !== null) add(tokenOf(tokens, quote))
    }
  }
  add(tokenOf(tokens, symbol))
  return path
}

/** The last source on the point's chain that had begun there. */
export function sourced({ prices }: PricedToken, point: PricePoint): SourcedPoint | undefined {
  const at = { blockNumber: point.blockNumber, timestamp: point.unix }
  const source = prices.findLast(
    ({ chain, since }) => chain?.id === point.chainId && (since === null || hasBegun(since, at)),
  )
  return source && { ...point, source }
}

/** Fixed prices as points at the moments from which they count. */
export function fixedPoints({ prices }: PricedToken): readonly SourcedPoint[] {
  return prices.flatMap((source) => {
    if (source.chain !== null) return []
    const price = parseDecimal(source.usd, PRICE_DECIMALS) ?? null
    const unix = source.since?.unix ?? Number.NEGATIVE_INFINITY
    return [{ unix, price, liquidity: null, source }]
  })
}

/** The later of a point read from events and the last fixed price up to the moment. */
export function withFixed(
  token: PricedToken,
  point: PricePoint | undefined,
  unix: number,
): SourcedPoint | undefined {
  const read = point && sourced(token, point)
  const fixed = fixedPoints(token).findLast((each) => each.unix <= unix)
  return fixed !== undefined && fixed.unix >= (read?.unix ?? Number.NEGATIVE_INFINITY)
    ? fixed
    : read
}

interface Moment {
  readonly unix: number
}

type ReadPoints<M extends Moment> = (
  token: PricedToken,
  moments: readonly M[],
) => Promise<readonly (SourcedPoint | undefined)[]>

/** Returns dollars at each ascending moment, from the points that `read` returns. */
export async function quoteAlongPath<M extends Moment>(
  tokens: Tokens,
  symbol: string,
  { moments, read }: { readonly moments: readonly M[]; readonly read: ReadPoints<M> },
): Promise<readonly Quoted[]> {
  const token = tokenOf(tokens, symbol)
  if (token === undefined || token.prices.length === 0)
    return moments.map(() => ({ gap: 'no_source', symbol }))
  const points = await read(token, moments)
  const quoted: Quoted[] = moments.map(() => ({ gap: 'no_event', symbol: token.symbol }))
  const usable = [...points.keys()].flatMap((index) => {
    const [point, unix] = [points[index], moments[index]?.unix ?? 0]
    return point === undefined ? [] : [{ index, point, unix }]
  })
  const byQuote = Map.groupBy(usable, ({ point }) => quoteOf(point.source))
  const done = [...byQuote].map(async ([quote, group]) => {
    const own = group.flatMap(({ index }) => moments[index] ?? [])
    const inDollars =
      quote === null
        ? own.map(() => DOLLAR)
        : await quoteAlongPath(tokens, quote, { moments: own, read })
    const decimals = quote === null ? 0 : (tokenOf(tokens, quote)?.decimals ?? 0)
    for (const [order, { index, point, unix }] of group.entries())
      quoted[index] = inDollarsAt(token, point, {
        unix,
        quote: inDollars[order] ?? DOLLAR,
        decimals,
      })
  })
  await allEnded(done)
  return quoted
}

const DOLLAR: KnownPrice = { price: PRICE_ONE, asOfUnix: Number.NEGATIVE_INFINITY }

function inDollarsAt(
  { symbol }: PricedToken,
  point: SourcedPoint,
  at: { readonly unix: number; readonly quote: Quoted; readonly decimals: number },
): Quoted {
  const { quote, decimals, unix } = at
  const gap = gapOf(point, unix)
  if (gap !== undefined) return { gap, symbol }
  if ('gap' in quote) return quote
  if (isBelowFloor(point, quote.price, decimals)) return { gap: 'low_liquidity', symbol }
  return {
    price: chainPrices(point.price ?? 0n, quote.price),
    asOfUnix: Math.max(point.unix, quote.asOfUnix),
  }
}

/** Returns why the price itself does not count, whatever its quote. */
export function gapOf(
  { price, source, unix: sinceUnix }: SourcedPoint,
  unix: number,
): UnknownPrice['gap'] | undefined {
  if (price === null) return 'no_liquidity'
  if (source.chain === null || source.staleAfterSeconds === undefined) return undefined
  return unix - sinceUnix > source.staleAfterSeconds ? 'stale' : undefined
}

export function isBelowFloor(
  { liquidity, source }: SourcedPoint,
  quotePrice: Price,
  quoteDecimals: number,
): boolean {
  const floor = source.chain === null ? null : (source.floor ?? null)
  if (floor === null || liquidity === null) return false
  return valueAt(liquidity, quoteDecimals, quotePrice) < floor
}
