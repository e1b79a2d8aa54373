import assert from 'node:assert/strict'
import { showAddress } from '#base/address.ts'
import { allEnded } from '#base/async.ts'
import {
  chainPrices,
  type MicroUsd,
  PRICE_DECIMALS,
  PRICE_ONE,
  type Price,
  parseDecimal,
  valueAt,
} from '#base/money.ts'
import { DAY_SECONDS } from '#base/time.ts'
import type { Context } from '#context.ts'
import type { Sums } from '#data/events/sums.ts'
import type { Connection } from '#db/engine.ts'
import { column, type Row, sql } from '#db/sql.ts'
import {
  findPath,
  findToken,
  hasBegun,
  type PricedToken,
  type PriceSource,
} from '#ecosystem/priced-token.ts'
import type { EventMoment, PriceBook } from '#index/event.ts'

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
  const [quoted] = await quoteAlongPath(tokens, symbol, { moments: [{ unix }], read })
  assert(quoted !== undefined, 'one moment has one price')
  if ('gap' in quoted) return quoted
  assert(own !== undefined, 'a known price has a source')
  const asOfUnix = Number.isFinite(quoted.asOfUnix) ? quoted.asOfUnix : unix
  const { source } = own
  const place = source.chain && `${source.chain.name}:${showAddress(source.address)}`
  return { price: quoted.price, asOfUnix, source: place ? `${source.kind}:${place}` : 'fixed' }
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
  const read = (token: PricedToken, at: readonly Moment[]) =>
    closesAt(connection, token, { moments: at, seconds: DAY_SECONDS })
  const quoted = await quoteAlongPath(tokens, symbol, { moments, read })
  return quoted.map(priceOrNull)
}

export function openPriceBook(tokens: readonly PricedToken[]): PriceBook {
  return {
    symbols: tokens.map(({ symbol }) => symbol),
    dependents: (symbol) =>
      tokens.flatMap((token) =>
        [...findPath(tokens, token)].some((each) => each.symbol === symbol) ? [token.symbol] : [],
      ),
    decimals: (symbol) => findToken(tokens, symbol)?.decimals ?? 0,
    chainIds(symbol) {
      const path = [...findPath(tokens, findToken(tokens, symbol))]
      return new Set(path.flatMap(({ prices }) => prices.flatMap(({ chain }) => chain?.id ?? [])))
    },
    async pricesAt(connection, symbol, moments) {
      const read = (token: PricedToken, at: readonly EventMoment[]) =>
        pointsBefore(connection, token, at)
      const quoted = await quoteAlongPath(tokens, symbol, { moments, read })
      return quoted.map(priceOrNull)
    },
  }
}

/** Each moment's last point before it. Moments may come in any order. */
async function pointsBefore(
  connection: Connection,
  token: PricedToken,
  moments: readonly EventMoment[],
): Promise<readonly (SourcedPoint | undefined)[]> {
  const sorted = [...moments].sort((a, b) => a.unix - b.unix)
  const [first, last] = [sorted[0]?.unix ?? 0, sorted.at(-1)?.unix ?? 0]
  const range = { fromUnix: first, untilUnix: last }
  const points = lastBefore(await pointsAround(connection, token.symbol, range), sorted)
  const found = new Map(sorted.map((moment, index) => [moment, points[index]]))
  return moments.map((moment) => withFixed(token, found.get(moment), moment.unix))
}

interface Moment {
  readonly unix: number
}

/** The last points at ascending moments that are some of those so many seconds apart. */
export async function closesAt(
  connection: Connection,
  token: PricedToken,
  { moments, seconds }: { readonly moments: readonly Moment[]; readonly seconds: number },
): Promise<readonly (SourcedPoint | undefined)[]> {
  const range = { fromUnix: moments[0]?.unix ?? 0, untilUnix: moments.at(-1)?.unix ?? 0, seconds }
  const points = await pointsEvery(connection, token.symbol, range)
  return moments.map(({ unix }) => withFixed(token, points.get(unix), unix))
}

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

interface KnownPrice {
  readonly price: Price
  /** Time of its newest input, in Unix seconds; -Infinity for fixed prices. */
  readonly asOfUnix: number
}

type Quoted = KnownPrice | UnknownPrice

export interface SourcedPoint extends Pick<PricePoint, 'unix' | 'price' | 'liquidity'> {
  readonly source: PriceSource
}

export function priceOrNull(quoted: Quoted): Price | null {
  return 'gap' in quoted ? null : quoted.price
}

type Tokens = readonly PricedToken[]

/** The last source on the point's chain that had begun there. */
function sourced({ prices }: PricedToken, point: PricePoint): SourcedPoint | undefined {
  const at = { blockNumber: point.blockNumber, timestamp: point.unix }
  const source = prices.findLast(
    ({ chain, since }) => chain?.id === point.chainId && (since === null || hasBegun(since, at)),
  )
  return source && { ...point, source }
}

/** Fixed prices as points at the moments from which they count. */
function fixedPoints({ prices }: PricedToken): readonly SourcedPoint[] {
  return prices.flatMap((source) => {
    if (source.chain !== null) return []
    const price = parseDecimal(source.usd, PRICE_DECIMALS) ?? null
    const unix = source.since?.unix ?? Number.NEGATIVE_INFINITY
    return [{ unix, price, liquidity: null, source }]
  })
}

/** The later of a point read from events and the last fixed price up to the moment. */
function withFixed(
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
  const token = findToken(tokens, symbol)
  if (token === undefined || token.prices.length === 0)
    return moments.map(() => ({ gap: 'no_source', symbol }))
  const points = await read(token, moments)
  const quoted: Quoted[] = moments.map(() => ({ gap: 'no_event', symbol: token.symbol }))
  const usable = [...points.keys()].flatMap((index) => {
    const [point, unix] = [points[index], moments[index]?.unix ?? 0]
    return point === undefined ? [] : [{ index, point, unix }]
  })
  const byQuote = Map.groupBy(usable, ({ point }) => point.source.quote)
  const done = [...byQuote].map(async ([quote, group]) => {
    const own = group.flatMap(({ index }) => moments[index] ?? [])
    const inDollars =
      quote === null
        ? own.map(() => DOLLAR)
        : await quoteAlongPath(tokens, quote, { moments: own, read })
    const decimals = quote === null ? 0 : (findToken(tokens, quote)?.decimals ?? 0)
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
  const gap = findGap(point, unix)
  if (gap !== undefined) return { gap, symbol }
  if ('gap' in quote) return quote
  if (isBelowFloor(point, quote.price, decimals)) return { gap: 'low_liquidity', symbol }
  return {
    price: chainPrices(point.price ?? 0n, quote.price),
    asOfUnix: Math.max(point.unix, quote.asOfUnix),
  }
}

/** Returns why the price itself does not count, whatever its quote. */
function findGap(
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
  const token = findToken(tokens, symbol)
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
    const gap = findGap(point, endUnix)
    if (gap !== undefined) return { gap, symbol }
    const quote = findToken(tokens, point.source.quote)
    const average = quote ? await averageOf(quote.symbol) : { price: PRICE_ONE }
    if ('gap' in average) return average
    if (isBelowFloor(point, average.price, quote?.decimals ?? 0))
      return { gap: 'low_liquidity', symbol }
    inDollars.push({ unix: point.unix, price: chainPrices(point.price ?? 0n, average.price) })
  }
  return { price: timeWeighted(inDollars, window) }
}

/** The one that holds at the start, and those within. */
async function pointsIn(
  connection: Connection,
  token: PricedToken,
  { fromUnix, untilUnix }: PriceWindow,
): Promise<readonly SourcedPoint[]> {
  const range = { fromUnix: fromUnix + 1, untilUnix }
  const read = await pointsAround(connection, token.symbol, range)
  const all = [...read.flatMap((point) => sourced(token, point) ?? []), ...fixedPoints(token)]
    .filter(({ unix }) => unix <= untilUnix)
    .sort((a, b) => a.unix - b.unix)
  const first = all.findLastIndex(({ unix }) => unix <= fromUnix)
  return all.slice(Math.max(0, first))
}

type Valued<S> = Omit<S, 'token'> & {
  readonly token: PricedToken
  readonly usdNow: MicroUsd | null
}

interface ValuedNow<S> {
  readonly lines: readonly Valued<S>[]
  /** Null if nothing has a price. */
  readonly usdNow: MicroUsd | null
  /** Events of tokens that have no price now. */
  readonly unpricedNow: number
}

export async function valueNow<S extends Sums & { readonly token: string }>(
  ctx: Pick<Context, 'ecosystem'>,
  connection: Connection,
  { asOfUnix, sums }: { readonly asOfUnix: number; readonly sums: readonly S[] },
): Promise<ValuedNow<S>> {
  const lines: Valued<S>[] = []
  const worth: (MicroUsd | null)[] = []
  for (const [symbol, group] of Map.groupBy(sums, (each) => each.token)) {
    const token = ctx.ecosystem.tokens.find((each) => each.symbol === symbol)
    if (token === undefined) continue
    const price = await priceAt(ctx, connection, symbol, asOfUnix)
    const value = (amount: bigint) => price && valueAt(amount, token.decimals, price)
    for (const each of group) lines.push({ ...each, token, usdNow: value(each.amount) })
    // Rounded once per token, so that the total does not depend on the lines.
    worth.push(value(group.reduce((all, { amount }) => all + amount, 0n)))
  }
  const known = worth.filter((each) => each !== null)
  return {
    lines,
    usdNow: known.length < 1 && worth.length > 0 ? null : known.reduce((a, b) => a + b, 0n),
    unpricedNow: lines.reduce((all, { usdNow, events }) => all + (usdNow === null ? events : 0), 0),
  }
}

export interface PricePoint {
  readonly unix: number
  readonly chainId: number
  readonly blockNumber: number
  /** Null where nothing can be traded. */
  readonly price: Price | null
  /** Base units of the quote; null if unknown. */
  readonly liquidity: bigint | null
}

const POINT = sql`chain_id, block_number, timestamp_unix, price, liquidity`

function toPoint(row: Row): PricePoint {
  return {
    unix: column.integer(row, 'timestamp_unix'),
    chainId: column.integer(row, 'chain_id'),
    blockNumber: column.integer(row, 'block_number'),
    price: column.bigintOrNull(row, 'price'),
    liquidity: column.bigintOrNull(row, 'liquidity'),
  }
}

export async function lastPoint(
  connection: Connection,
  symbol: string,
  unix: number,
): Promise<PricePoint | undefined> {
  const [row] = await connection.run(sql`
    select ${POINT} from price_points
    where symbol = ${symbol} and timestamp_unix <= ${unix}
    order by timestamp_unix desc, block_number desc limit 1`)
  return row && toPoint(row)
}

/** Those of a range, bounds included, after the last one before it; oldest first. */
async function pointsAround(
  connection: Connection,
  symbol: string,
  range: { readonly fromUnix: number; readonly untilUnix: number },
): Promise<readonly PricePoint[]> {
  const before = await lastPoint(connection, symbol, range.fromUnix - 1)
  const within = await connection.run(sql`
    select ${POINT} from price_points
    where symbol = ${symbol}
      and timestamp_unix >= ${range.fromUnix} and timestamp_unix <= ${range.untilUnix}
    order by timestamp_unix, block_number`)
  return [...(before === undefined ? [] : [before]), ...within.map(toPoint)]
}

/** The last point up to each second from `fromUnix` on, so many apart, by that second. */
async function pointsEvery(
  connection: Connection,
  symbol: string,
  range: { readonly fromUnix: number; readonly untilUnix: number; readonly seconds: number },
): Promise<ReadonlyMap<number, PricePoint>> {
  const newest = sql`from price_points where symbol = ${symbol} and timestamp_unix <= unix
    order by timestamp_unix desc, block_number desc limit 1`
  const found = await connection.run(sql`
    with recursive ends (unix) as (
      select cast(${range.fromUnix} as bigint)
      union all select unix + ${range.seconds} from ends where unix < ${range.untilUnix}
    ), closes as (
      select unix, (select chain_id ${newest}) as at_chain, (select block_number ${newest}) as at_block
      from ends
    )
    select unix, ${POINT} from closes
    join price_points on symbol = ${symbol} and chain_id = at_chain and block_number = at_block`)
  return new Map(found.map((row) => [column.integer(row, 'unix'), toPoint(row)]))
}

/** The time of the first point; undefined without a price. */
export async function firstPrice(
  connection: Connection,
  symbol: string,
): Promise<number | undefined> {
  const [row] = await connection.run(sql`
    select timestamp_unix from price_points where symbol = ${symbol}
    order by timestamp_unix limit 1`)
  return row && column.integer(row, 'timestamp_unix')
}

/**
 * Returns the point at the close of the block before each moment's; of another chain, the last before that second. Both ascend by time.
 */
function lastBefore(
  points: readonly PricePoint[],
  moments: readonly EventMoment[],
): readonly (PricePoint | undefined)[] {
  let next = 0
  let earlier: PricePoint | undefined
  return moments.map(({ unix, chainId, blockNumber }) => {
    for (let point = points[next]; point !== undefined && point.unix < unix; ) {
      earlier = point
      next += 1
      point = points[next]
    }
    let found = earlier
    for (let at = next; points[at]?.unix === unix; at += 1) {
      const point = points[at]
      const isEarlier = point?.chainId === chainId && point.blockNumber < blockNumber
      if (chainId === null || isEarlier) found = point
    }
    return found
  })
}

/** Points before the window set its start. */
function timeWeighted(
  points: readonly { readonly unix: number; readonly price: Price }[],
  range: PriceWindow,
): Price {
  let weighted = 0n
  let seconds = 0n
  for (const [index, point] of points.entries()) {
    const start = Math.max(point.unix, range.fromUnix)
    const end = Math.min(points[index + 1]?.unix ?? range.untilUnix, range.untilUnix)
    if (end <= start) continue
    weighted += point.price * BigInt(end - start)
    seconds += BigInt(end - start)
  }
  return seconds === 0n ? (points.at(-1)?.price ?? 0n) : weighted / seconds
}
