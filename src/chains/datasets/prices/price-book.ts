import type { PricedToken, PriceSource } from '#chains/ecosystem/priced-token.ts'
import type { EventMoment, PriceBook } from '#chains/indexer/events/value-events.ts'
import type { Context } from '#context.ts'
import { showAddress } from '#domain/address.ts'
import type { Price } from '#domain/money.ts'
import { allEnded } from '#lib/async.ts'
import { DAY_SECONDS, startOfDay } from '#lib/time.ts'
import type { Connection } from '#store/engine.ts'
import {
  type KnownPrice,
  pathOf,
  priceOrNull,
  quoteAlongPath,
  type SourcedPoint,
  tokenOf,
  type UnknownPrice,
  withFixed,
} from './price-paths.ts'
import { dayCloses, lastBefore, lastPoint, lastUpTo, pointsBetween } from './queries.ts'

interface LatestPrice extends KnownPrice {
  /** `<kind>:<chain>:<address>`, or `fixed`. */
  readonly source: string
}

type File = Pick<Context, 'ecosystem'>

/** In dollars, along the token's path of pools to a feed. */
export async function latestPrice(
  { ecosystem: { tokens } }: File,
  connection: Connection,
  symbol: string,
  unix: number,
): Promise<LatestPrice | UnknownPrice> {
  let own: SourcedPoint | undefined
  const read = async (token: PricedToken) => {
    const point = withFixed(token, await lastPoint(connection, token.symbol, unix), unix)
    if (token.symbol === symbol) own = point
    return [point]
  }
  const moments = [{ unix }]
  const [quoted = { gap: 'no_source', symbol } as const] = await quoteAlongPath(tokens, symbol, {
    moments,
    read,
  })
  if ('gap' in quoted) return quoted
  const asOfUnix = Number.isFinite(quoted.asOfUnix) ? quoted.asOfUnix : unix
  return { price: quoted.price, asOfUnix, source: own === undefined ? '' : nameOf(own.source) }
}

/** Null while unknown. */
export async function priceAt(
  ctx: File,
  connection: Connection,
  symbol: string,
  unix: number,
): Promise<Price | null> {
  return priceOrNull(await latestPrice(ctx, connection, symbol, unix))
}

/** Dollars at the end of each of these ascending days; null while unknown. */
export async function dayPrices(
  { ecosystem: { tokens } }: File,
  connection: Connection,
  symbol: string,
  days: readonly number[],
): Promise<readonly (Price | null)[]> {
  const moments = days.map((day) => ({ unix: day + DAY_SECONDS - 1 }))
  const read = (token: PricedToken, at: readonly Moment[]) => closesAt(connection, token, at)
  const quoted = await quoteAlongPath(tokens, symbol, { moments, read })
  return quoted.map(priceOrNull)
}

/** What the index values events by. */
export function priceBookOf(tokens: readonly PricedToken[]): PriceBook {
  return {
    symbols: tokens.map(({ symbol }) => symbol),
    dependents: (symbol) =>
      tokens.flatMap((token) =>
        [...pathOf(tokens, token.symbol)].some((each) => each.symbol === symbol)
          ? [token.symbol]
          : [],
      ),
    decimals: (symbol) => tokenOf(tokens, symbol)?.decimals ?? 0,
    chainIds: (symbol) =>
      new Set([...pathOf(tokens, symbol)].flatMap(({ prices }) => prices.flatMap(chainIdOf))),
    async pricesAt(connection, symbol, moments) {
      const read = (token: PricedToken, at: readonly EventMoment[]) =>
        pointsBefore(connection, token, at)
      const quoted = await quoteAlongPath(tokens, symbol, { moments, read })
      return quoted.map(priceOrNull)
    },
  }
}

/** What a token's dollar value depends on besides the points: once it changes, values do. */
async function pointsBefore(
  connection: Connection,
  token: PricedToken,
  moments: readonly EventMoment[],
): Promise<readonly (SourcedPoint | undefined)[]> {
  const sorted = [...moments].sort((a, b) => a.unix - b.unix)
  const [first, last] = [sorted[0]?.unix ?? 0, sorted.at(-1)?.unix ?? 0]
  const [before, within] = await allEnded([
    lastPoint(connection, token.symbol, first - 1),
    pointsBetween(connection, token.symbol, { fromUnix: first, untilUnix: last }),
  ])
  const points = lastBefore(before === undefined ? within : [before, ...within], sorted)
  const found = new Map(sorted.map((moment, index) => [moment, points[index]]))
  return moments.map((moment) => withFixed(token, found.get(moment), moment.unix))
}

interface Moment {
  readonly unix: number
}

async function closesAt(connection: Connection, token: PricedToken, moments: readonly Moment[]) {
  const units = moments.map(({ unix }) => unix)
  const range = { fromUnix: startOfDay(units[0] ?? 0), untilUnix: startOfDay(units.at(-1) ?? 0) }
  const points = await dayCloses(connection, token.symbol, range)
  return lastUpTo(points, units).map((point, index) => withFixed(token, point, units[index] ?? 0))
}

function nameOf(source: PriceSource): string {
  if (source.chain === null) return 'fixed'
  return `${source.kind}:${source.chain.name}:${showAddress(source.address)}`
}

function chainIdOf({ chain }: PriceSource): readonly number[] {
  return chain === null ? [] : [chain.id]
}
