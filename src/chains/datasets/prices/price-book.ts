import type { PricedToken, PriceSource } from '#chains/ecosystem/priced-token.ts'
import { readBackfill, readBackfills } from '#chains/indexer/backfill/backfill-row.ts'
import type { TimeRange } from '#chains/indexer/events/time-range.ts'
import type { EventMoment, PriceBook } from '#chains/indexer/events/value-events.ts'
import { readPosition } from '#chains/indexer/positions.ts'
import type { Context } from '#context.ts'
import { showAddress } from '#domain/address.ts'
import type { Price } from '#domain/money.ts'
import { allEnded } from '#lib/async.ts'
import type { Json } from '#lib/json.ts'
import { DAY_SECONDS, startOfDay } from '#lib/time.ts'
import type { Connection } from '#store/engine.ts'
import { PRICES } from '../dataset-names.ts'
import { type Candle, readCandles } from './candles.ts'
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
import { dayCloses, lastBefore, lastPoint, lastUpTo, nextPoint, pointsBetween } from './queries.ts'

export interface LatestPrice extends KnownPrice {
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
  const path = pathOf(tokens, symbol)
  if ((await findUnread(connection, path))(unix)) return { gap: 'not_read', symbol }
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
  if ('gap' in quoted)
    return quoted.gap === 'no_event' && (await isMissingHistory(connection, path))
      ? { ...quoted, gap: 'not_read' }
      : quoted
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
  const isUnread = await findUnread(connection, pathOf(tokens, symbol))
  const moments = days.map((day) => ({ unix: day + DAY_SECONDS - 1 }))
  const read = (token: PricedToken, at: readonly Moment[]) => closesAt(connection, token, at)
  const quoted = await quoteAlongPath(tokens, symbol, { moments, read })
  return quoted.map((each, index) =>
    isUnread(moments[index]?.unix ?? 0) ? null : priceOrNull(each),
  )
}

/** Takes ascending hours without gaps, and returns one candle for each. */
export async function hourCandles(
  { ecosystem: { tokens } }: File,
  connection: Connection,
  symbol: string,
  hours: readonly number[],
): Promise<readonly Candle[]> {
  const isUnread = await findUnread(connection, pathOf(tokens, symbol))
  return readCandles(connection, tokens, { symbol, hours, isUnread })
}

/** What the index values events by. */
export function priceBookOf(tokens: readonly PricedToken[]): PriceBook {
  return {
    dependents: (symbol) =>
      tokens.flatMap((token) =>
        [...pathOf(tokens, token.symbol)].some((each) => each.symbol === symbol)
          ? [token.symbol]
          : [],
      ),
    decimals: (symbol) => tokenOf(tokens, symbol)?.decimals ?? 0,
    known: (connection, symbol) => knownRanges(connection, [...pathOf(tokens, symbol)]),
    async pricesAt(connection, symbol, moments) {
      const read = (token: PricedToken, at: readonly EventMoment[]) =>
        pointsBefore(connection, token, at)
      const quoted = await quoteAlongPath(tokens, symbol, { moments, read })
      return quoted.map(priceOrNull)
    },
  }
}

/** What a token's dollar value depends on besides the points: once it changes, values do. */
export function valuedBy(token: PricedToken, tokens: readonly PricedToken[]): readonly Json[] {
  const path = [...pathOf(tokens, token.symbol)]
  return path.flatMap(({ symbol, prices }) =>
    prices.map((source): Json => {
      const since = source.since === null ? null : { ...source.since }
      if (source.chain === null) return [symbol, source.kind, source.usd, since]
      const { kind, chain, address, floor = null, staleAfterSeconds = null } = source
      return [symbol, kind, chain.id, address, since, floor?.toString() ?? null, staleAfterSeconds]
    }),
  )
}

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

type Path = Iterable<Pick<PricedToken, 'symbol' | 'prices'>>

function chainsOf(path: Path): ReadonlySet<number> {
  return new Set([...path].flatMap(({ prices }) => prices.flatMap(({ chain }) => chain?.id ?? [])))
}

/** Tells moments whose last price may not be read yet. */
async function findUnread(connection: Connection, path: Path): Promise<(unix: number) => boolean> {
  const backfills = await readBackfills(connection)
  const ranges: TimeRange[] = []
  for (const token of path)
    for (const chainId of chainsOf([token])) {
      const backfill = backfills.get(chainId)
      if (backfill === undefined || backfill.datasets?.includes(PRICES) === false) continue
      const { datasets, newestFrom, read } = backfill
      const newest = { unix: newestFrom.timestamp }
      const next = datasets === null ? await nextPoint(connection, token.symbol, newest) : undefined
      ranges.push({ fromUnix: read.timestamp, untilUnix: next ?? ALWAYS.untilUnix })
    }
  return (unix) => ranges.some(({ fromUnix, untilUnix }) => unix >= fromUnix && unix < untilUnix)
}

async function isMissingHistory(connection: Connection, path: Path): Promise<boolean> {
  const backfills = await readBackfills(connection)
  return [...chainsOf(path)].some((chainId) => backfills.has(chainId))
}

const ALWAYS: TimeRange = {
  fromUnix: Number.NEGATIVE_INFINITY,
  untilUnix: Number.POSITIVE_INFINITY,
}

async function knownRanges(
  connection: Connection,
  path: readonly PricedToken[],
): Promise<readonly TimeRange[]> {
  const series = path.flatMap(({ symbol, prices }) =>
    [...chainsOf([{ symbol, prices }])].map((chainId) => ({ symbol, chainId })),
  )
  const own = await allEnded(series.map((each) => rangesOf(connection, each)))
  return own.reduce<readonly TimeRange[]>(
    (ranges, each) =>
      ranges.flatMap((range) => each.map((other) => overlap(range, other))).filter(isRange),
    [ALWAYS],
  )
}

/**
 * Moments whose last earlier price is known. During a backfill, prices are known up to `read` and in
 * the newest days.
 */
async function rangesOf(
  connection: Connection,
  { symbol, chainId }: { readonly symbol: string; readonly chainId: number },
): Promise<readonly TimeRange[]> {
  const [position, backfill] = await allEnded([
    readPosition(connection, chainId),
    readBackfill(connection, chainId),
  ])
  if (position === undefined) return []
  const { fromUnix } = ALWAYS
  const isComplete = backfill === undefined || backfill.datasets?.includes(PRICES) === false
  if (isComplete) return [{ fromUnix, untilUnix: position.timestamp }]
  if (backfill.datasets !== null) return [{ fromUnix, untilUnix: backfill.read.timestamp }]
  // The price before the first point of the newest days is unknown.
  const newest = { unix: backfill.newestFrom.timestamp, chainId }
  const first = await nextPoint(connection, symbol, newest)
  return [
    { fromUnix, untilUnix: backfill.read.timestamp },
    { fromUnix: (first ?? Number.POSITIVE_INFINITY) + 1, untilUnix: position.timestamp },
  ]
}

function overlap(a: TimeRange, b: TimeRange): TimeRange {
  return {
    fromUnix: Math.max(a.fromUnix, b.fromUnix),
    untilUnix: Math.min(a.untilUnix, b.untilUnix),
  }
}

function isRange(range: TimeRange): boolean {
  return range.fromUnix <= range.untilUnix
}
