import { type PricedToken, quoteOf } from '#chains/ecosystem/priced-token.ts'
import { chainPrices, PRICE_ONE, type Price } from '#domain/money.ts'
import type { Connection } from '#store/engine.ts'
import {
  fixedPoints,
  gapOf,
  isBelowFloor,
  type SourcedPoint,
  sourced,
  tokenOf,
  type UnknownPrice,
} from './price-paths.ts'
import { lastPoint, pointsBetween, timeWeighted } from './queries.ts'

interface PriceWindow {
  readonly fromUnix: number
  readonly untilUnix: number
}

/**
 * Time-weighted, so that one pumped block cannot move it; unknown if the price was unknown at any
 * moment of the window.
 */
export async function averagePrice(
  connection: Connection,
  tokens: readonly PricedToken[],
  { symbol, window }: { readonly symbol: string; readonly window: PriceWindow },
): Promise<{ readonly price: Price } | UnknownPrice> {
  const token = tokenOf(tokens, symbol)
  if (token === undefined || token.prices.length === 0) return { gap: 'no_source', symbol }
  const points = await pointsIn(connection, token, window)
  if (points.length === 0) return { gap: 'no_event', symbol }
  const averages = new Map<string, ReturnType<typeof averagePrice>>()
  const averageOf = (quote: string) => {
    const known = averages.get(quote) ?? averagePrice(connection, tokens, { symbol: quote, window })
    averages.set(quote, known)
    return known
  }
  const inDollars: { unix: number; price: Price }[] = []
  for (const [index, point] of points.entries()) {
    const endUnix = Math.min(points[index + 1]?.unix ?? window.untilUnix, window.untilUnix)
    const gap = gapOf(point, endUnix)
    if (gap !== undefined) return { gap, symbol }
    const quoteSymbol = quoteOf(point.source)
    const quote = quoteSymbol === null ? undefined : tokenOf(tokens, quoteSymbol)
    const average = quote ? await averageOf(quote.symbol) : { price: PRICE_ONE }
    if ('gap' in average) return average
    if (isBelowFloor(point, average.price, quote?.decimals ?? 0))
      return { gap: 'low_liquidity', symbol }
    inDollars.push({ unix: point.unix, price: chainPrices(point.price ?? 0n, average.price) })
  }
  return { price: timeWeighted(inDollars, window) ?? 0n }
}

/** The one that holds at the start, and those within. */
async function pointsIn(
  connection: Connection,
  token: PricedToken,
  { fromUnix, untilUnix }: PriceWindow,
): Promise<readonly SourcedPoint[]> {
  const before = await lastPoint(connection, token.symbol, fromUnix)
  const within = await pointsBetween(connection, token.symbol, {
    fromUnix: fromUnix + 1,
    untilUnix,
  })
  const read = [...(before === undefined ? [] : [before]), ...within]
  const all = [...read.flatMap((point) => sourced(token, point) ?? []), ...fixedPoints(token)]
    .filter(({ unix }) => unix <= untilUnix)
    .sort((a, b) => a.unix - b.unix)
  const first = all.findLastIndex(({ unix }) => unix <= fromUnix)
  return all.slice(Math.max(0, first))
}
