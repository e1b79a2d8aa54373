import { showAddress } from '#domain/address.ts'
import { chainPrices, PRICE_DECIMALS, PRICE_ONE, type Price } from '#domain/money.ts'
import { type PricedToken, type PriceSource, quoteOf } from '#ecosystem/priced-token.ts'
import { readBackfill, readBackfills } from '#indexer/backfill/backfill-row.ts'
import type { Cut, CutBlock } from '#indexer/cut.ts'
import type { TimeRange } from '#indexer/events/time-range.ts'
import type { PriceBook } from '#indexer/events/value-events.ts'
import { readPosition } from '#indexer/positions.ts'
import { allEnded } from '#lib/all-ended.ts'
import { parseDecimal } from '#lib/decimal.ts'
import type { Json } from '#lib/json.ts'
import { DAY_SECONDS, startOfDay } from '#lib/time.ts'
import type { Connection } from '#store/engine.ts'
import { PRICES } from '../dataset-names.ts'
import {
  carryForward,
  dayCloses,
  lastPoint,
  nextPoint,
  pointsBetween,
  timeWeighted,
} from './queries.ts'

/** Each along its path of pools to a feed. */
export interface DollarPrices extends PriceBook {
  /** Null without a price. */
  latest(
    connection: Connection,
    symbol: string,
    unix: number,
    cut?: Cut,
  ): Promise<LatestPrice | null>
  /** Time-weighted, so that one pumped block cannot move it. */
  average(
    connection: Connection,
    symbol: string,
    range: { readonly fromUnix: number; readonly untilUnix: number },
  ): Promise<Price | null>
  closes(
    connection: Connection,
    symbol: string,
    days: readonly number[],
    cut?: Cut,
  ): Promise<readonly (Price | null)[]>
}

export interface LatestPrice {
  readonly price: Price
  readonly asOfUnix: number
  /** `<kind>:<chain>:<address>`, or `fixed`. */
  readonly source: string
}

interface Step {
  readonly symbol: string
  readonly source: PriceSource
}

export function makeDollarPrices(tokens: readonly PricedToken[]): DollarPrices {
  const paths = new Map(tokens.map((token) => [token.symbol, pathOf(token, tokens)]))
  const path = (symbol: string) => paths.get(symbol) ?? []
  const decimals = new Map(tokens.map((token) => [token.symbol, token.decimals]))
  return {
    dependents: (symbol) =>
      [...paths].flatMap(([token, steps]) =>
        steps.some((step) => step.symbol === symbol) ? [token] : [],
      ),
    decimals: (symbol) => decimals.get(symbol) ?? 0,
    known: (connection, symbol) => knownRanges(connection, path(symbol)),
    pricesAt: (connection, symbol, moments) =>
      alongPath(path(symbol), moments.length, (step) => pointsAt(connection, step, moments)),
    async closes(connection, symbol, days, cut) {
      const steps = path(symbol)
      const untilUnix = await readUntil(connection, steps)
      const closes = await alongPath(steps, days.length, (step) =>
        closesAt(connection, step, { days, cut }),
      )
      return closes.map((price, index) =>
        (days[index] ?? 0) + DAY_SECONDS > untilUnix ? null : price,
      )
    },
    latest: (connection, symbol, unix, cut) => latest(connection, path(symbol), { unix, cut }),
    async average(connection, symbol, range) {
      const [price] = await alongPath(path(symbol), 1, async (step) => [
        await averageOf(connection, step, range),
      ])
      return price ?? null
    },
  }
}

function pathOf(token: PricedToken, tokens: readonly PricedToken[]): readonly Step[] {
  const { price } = token
  if (price === null) return []
  const step = { symbol: token.symbol, source: price }
  const symbol = quoteOf(price)
  if (symbol === null) return [step]
  const quote = tokens.find((each) => each.symbol.toUpperCase() === symbol.toUpperCase())
  return quote === undefined ? [] : [step, ...pathOf(quote, tokens)]
}

export function valuedBy(token: PricedToken, tokens: readonly PricedToken[]): readonly Json[] {
  return pathOf(token, tokens).map(({ symbol, source }) => {
    if (source.chain === null) return [symbol, source.kind, source.usd]
    return [symbol, source.kind, source.chain.id, source.address]
  })
}

/** Null if any step has none. */
async function alongPath(
  path: readonly Step[],
  count: number,
  read: (step: Step) => Promise<readonly (Price | null)[]>,
): Promise<readonly (Price | null)[]> {
  const begun = Array.from({ length: count }, () => (path.length === 0 ? null : PRICE_ONE))
  return (await allEnded(path.map(read))).reduce<readonly (Price | null)[]>(
    (prices, own) => prices.map((price, index) => multiply(price, own[index] ?? null)),
    begun,
  )
}

function multiply(a: Price | null, b: Price | null): Price | null {
  return a === null || b === null ? null : chainPrices(a, b)
}

function fixedPrice(source: PriceSource): Price | undefined {
  return source.chain === null ? parseDecimal(source.usd, PRICE_DECIMALS) : undefined
}

async function pointsAt(connection: Connection, step: Step, moments: readonly number[]) {
  const fixed = fixedPrice(step.source)
  if (fixed !== undefined) return moments.map(() => fixed)
  const first = moments[0] ?? 0
  const range = { afterUnix: first, untilUnix: moments.at(-1) ?? first }
  const [before, within] = await allEnded([
    lastPoint(connection, step.symbol, first),
    pointsBetween(connection, step.symbol, range),
  ])
  return carryForward(before === undefined ? within : [before, ...within], moments)
}

interface Closes {
  readonly days: readonly number[]
  readonly cut: Cut | undefined
}

async function closesAt(connection: Connection, step: Step, { days, cut }: Closes) {
  const fixed = fixedPrice(step.source)
  if (fixed !== undefined) return days.map(() => fixed)
  const range = { fromUnix: days[0] ?? 0, untilUnix: days.at(-1) ?? 0 }
  const closes = await dayCloses(connection, step.symbol, range)
  if (cut === undefined) return carryForward(closes, days)
  const block = blockOf(step, cut)
  const last = block && (await lastPoint(connection, step.symbol, block.unix, block.number))
  if (block === undefined || last === undefined) return days.map(() => null)
  const today = { unix: startOfDay(last.unix), price: last.price }
  return carryForward([...closes.filter(({ unix }) => unix < today.unix), today], days)
}

function blockOf({ source }: Step, cut: Cut): CutBlock | undefined {
  return source.chain === null ? undefined : cut.get(source.chain.id)
}

async function averageOf(
  connection: Connection,
  step: Step,
  range: { readonly fromUnix: number; readonly untilUnix: number },
) {
  const fixed = fixedPrice(step.source)
  if (fixed !== undefined) return fixed
  const before = await lastPoint(connection, step.symbol, range.fromUnix)
  const within = await pointsBetween(connection, step.symbol, {
    afterUnix: range.fromUnix,
    untilUnix: range.untilUnix,
  })
  return timeWeighted(before === undefined ? within : [before, ...within], range)
}

interface Moment {
  readonly unix: number
  readonly cut: Cut | undefined
}

async function lastPointOf(connection: Connection, step: Step, { unix, cut }: Moment) {
  if (cut === undefined) return lastPoint(connection, step.symbol, unix)
  const block = blockOf(step, cut)
  return block && lastPoint(connection, step.symbol, Math.min(unix, block.unix), block.number)
}

async function latest(
  connection: Connection,
  path: readonly Step[],
  at: Moment,
): Promise<LatestPrice | null> {
  const { unix } = at
  const [own] = path
  if (own === undefined || (await isReread(connection, path))) return null
  const [price] = await alongPath(path, 1, async (step) => [
    fixedPrice(step.source) ?? (await lastPointOf(connection, step, at))?.price ?? null,
  ])
  if (price === null || price === undefined) return null
  const point = await lastPointOf(connection, own, at)
  return { price, asOfUnix: point?.unix ?? unix, source: nameOf(own.source) }
}

/** During a re-read, the newest price is outdated. */
async function isReread(connection: Connection, path: readonly Step[]): Promise<boolean> {
  return (await readUntil(connection, path)) < Number.POSITIVE_INFINITY
}

/** Infinite unless a re-read is running. */
async function readUntil(connection: Connection, path: readonly Step[]): Promise<number> {
  const backfills = await readBackfills(connection)
  const ends = path.flatMap(({ source }) => {
    const backfill = source.chain === null ? undefined : backfills.get(source.chain.id)
    return backfill?.datasets?.includes(PRICES) === true ? [backfill.read.timestamp] : []
  })
  return Math.min(Number.POSITIVE_INFINITY, ...ends)
}

function nameOf(source: PriceSource): string {
  if (source.chain === null) return 'fixed'
  return `${source.kind}:${source.chain.name}:${showAddress(source.address)}`
}

const ALWAYS: TimeRange = {
  fromUnix: Number.NEGATIVE_INFINITY,
  untilUnix: Number.POSITIVE_INFINITY,
}

async function knownRanges(
  connection: Connection,
  path: readonly Step[],
): Promise<readonly TimeRange[]> {
  const own = await allEnded(
    path.map(({ symbol, source }) => stepRanges(connection, symbol, source)),
  )
  return own.reduce<readonly TimeRange[]>(
    (ranges, each) =>
      ranges.flatMap((range) => each.map((other) => overlap(range, other))).filter(isRange),
    [ALWAYS],
  )
}

/** During a backfill, prices are known up to `read` and in the newest days. */
async function stepRanges(
  connection: Connection,
  symbol: string,
  source: PriceSource,
): Promise<readonly TimeRange[]> {
  if (source.chain === null) return [ALWAYS]
  const [position, backfill] = await allEnded([
    readPosition(connection, source.chain.id),
    readBackfill(connection, source.chain.id),
  ])
  if (position === undefined) return []
  const { fromUnix } = ALWAYS
  const isComplete = backfill === undefined || backfill.datasets?.includes(PRICES) === false
  if (isComplete) return [{ fromUnix, untilUnix: position.timestamp }]
  if (backfill.datasets !== null) return [{ fromUnix, untilUnix: backfill.read.timestamp }]
  // The price before the first point of the newest days is unknown.
  const first = await nextPoint(connection, symbol, backfill.newestFrom.timestamp)
  return [
    { fromUnix, untilUnix: backfill.read.timestamp },
    { fromUnix: first ?? Number.POSITIVE_INFINITY, untilUnix: position.timestamp },
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
