import { PRICE_ONE, type Price } from '#base/money.ts'
import { HOUR_SECONDS } from '#base/time.ts'
import type { Context } from '#context.ts'
import type { Connection } from '#db/engine.ts'
import { type PricedToken, quoteOf, tokenOf } from '#ecosystem/priced-token.ts'
import { hoursBetween, type PriceHour } from './fold-hours.ts'
import {
  isBelowFloor,
  priceOrNull,
  quoteAlongPath,
  type SourcedPoint,
  withFixed,
} from './price-book.ts'
import { lastPoint, lastUpTo } from './queries.ts'

/** Prices of an hour in dollars; null while unknown. */
interface Candle {
  /** The price at the end of the hour before. */
  readonly open: Price | null
  readonly high: Price | null
  readonly low: Price | null
  readonly close: Price | null
}

const NO_CANDLE: Candle = { open: null, high: null, low: null, close: null }

type HourEnd = SourcedPoint & Partial<Pick<PriceHour, 'high' | 'low'>>

/**
 * Takes ascending hours without gaps, and returns one candle for each: highs and lows of the token's own
 * source, in dollars by its quote at the end of the hour.
 */
export async function hourCandles(
  { ecosystem: { tokens } }: Pick<Context, 'ecosystem'>,
  connection: Connection,
  symbol: string,
  hours: readonly number[],
): Promise<readonly Candle[]> {
  const ends = [(hours[0] ?? 0) - 1, ...hours.map((hour) => hour + HOUR_SECONDS - 1)]
  const moments = ends.map((unix) => ({ unix }))
  let own: readonly (HourEnd | undefined)[] = []
  const quoted = await quoteAlongPath(tokens, symbol, {
    moments,
    read: async (token, at) => {
      const points = await hourEnds(
        connection,
        token,
        at.map(({ unix }) => unix),
      )
      if (token.symbol === tokenOf(tokens, symbol)?.symbol) own = points
      return points
    },
  })
  const prices = quoted.map(priceOrNull)
  return hours.map((hour, index) =>
    candleOf(
      { open: prices[index] ?? null, close: prices[index + 1] ?? null },
      {
        hour,
        before: own[index],
        at: own[index + 1],
        quoteDecimals: quoteDecimalsOf(tokens, own[index + 1]),
      },
    ),
  )
}

function quoteDecimalsOf(tokens: readonly PricedToken[], end: HourEnd | undefined): number {
  const quote = end === undefined ? null : quoteOf(end.source)
  return quote === null ? 0 : (tokenOf(tokens, quote)?.decimals ?? 0)
}

function candleOf(
  { open, close }: Pick<Candle, 'open' | 'close'>,
  own: {
    readonly hour: number
    readonly before: HourEnd | undefined
    readonly at: HourEnd | undefined
    readonly quoteDecimals: number
  },
): Candle {
  if (close === null) return { ...NO_CANDLE, open }
  const { hour, before, at, quoteDecimals } = own
  // Sources may differ in their quote, so that the extremes of both cannot be compared.
  const isOfOne = before === undefined || before.source === at?.source
  const moved = isOfOne && at !== undefined && at.unix >= hour ? [at.high, at.low] : []
  const price = at?.price ?? 0n
  const extremes = moved.flatMap((each) => {
    if (each == null || at === undefined || price === 0n) return []
    const point = { ...at, liquidity: each.liquidity }
    if (isBelowFloor(point, (close * PRICE_ONE) / price, quoteDecimals)) return []
    return (close * each.price) / price
  })
  const all = [...extremes, close, ...(open === null ? [] : [open])]
  const high = all.reduce((a, b) => (a > b ? a : b))
  const low = all.reduce((a, b) => (a < b ? a : b))
  return { open, high, low, close }
}

async function hourEnds(
  connection: Connection,
  token: PricedToken,
  units: readonly number[],
): Promise<readonly (HourEnd | undefined)[]> {
  const range = { fromUnix: (units[0] ?? 0) + 1, untilUnix: units.at(-1) ?? 0 }
  const before = await lastPoint(connection, token.symbol, range.fromUnix - 1)
  const within = await hoursBetween(connection, token.symbol, range)
  const points = before === undefined ? within : [before, ...within]
  return lastUpTo(points, units).map((point, index) => withFixed(token, point, units[index] ?? 0))
}
