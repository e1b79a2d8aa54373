import { greater, lesser, PRICE_ONE, type Price } from '#base/money.ts'
import { DAY_SECONDS, HOUR_SECONDS, startOfHour } from '#base/time.ts'
import type { Context } from '#context.ts'
import type { Connection } from '#db/engine.ts'
import { column, fromStored, sql } from '#db/sql.ts'
import { findToken, type PricedToken } from '#ecosystem/priced-token.ts'
import type { Change } from '#index/dataset.ts'
import {
  closesAt,
  isBelowFloor,
  type PricePoint,
  priceOrNull,
  quoteAlongPath,
  type SourcedPoint,
} from './price-book.ts'

export const CANDLE_DAYS = 90

/** A day more, so that a reorg misses none. */
const KEPT_SECONDS = (CANDLE_DAYS + 1) * DAY_SECONDS

/** Computes the hours of a token from its points, from the one of a moment to the one of another. */
export async function foldHours(
  { connection }: Pick<Change, 'connection'>,
  symbol: string,
  { fromUnix, untilUnix }: { readonly fromUnix: number; readonly untilUnix: number },
): Promise<void> {
  const [row] = await connection.run(sql`select max(timestamp_unix) as unix from positions`)
  const nowUnix = (row && column.integerOrNull(row, 'unix')) ?? 0
  const keptUnix = startOfHour(nowUnix) - KEPT_SECONDS
  const first = Math.max(startOfHour(fromUnix), keptUnix)
  const end = startOfHour(untilUnix) + HOUR_SECONDS
  await connection.run(sql`
    delete from price_hours where symbol = ${symbol} and hour_unix >= ${first} and hour_unix < ${end}`)
  await connection.run(sql`
    delete from price_hours where symbol = ${symbol} and hour_unix < ${keptUnix}`)
  await connection.run(sql`
    insert into price_hours (symbol, hour_unix, high, low)
    select symbol, hour_unix, max(point), min(point) from (
      select symbol, timestamp_unix - timestamp_unix % ${HOUR_SECONDS} as hour_unix,
        price || ' ' || coalesce(liquidity, '') as point
      from price_points
      where symbol = ${symbol} and timestamp_unix >= ${first} and timestamp_unix < ${end}
    ) as points group by symbol, hour_unix`)
}

type Extreme = Pick<PricePoint, 'liquidity'> & { readonly price: bigint }

/** The highest and the lowest price of each hour in which anything could be traded. */
async function extremesFrom(
  connection: Connection,
  symbol: string,
  fromUnix: number,
): Promise<ReadonlyMap<number, readonly Extreme[]>> {
  const found = await connection.run(sql`
    select hour_unix, high, low from price_hours
    where symbol = ${symbol} and hour_unix >= ${fromUnix} and high is not null`)
  return new Map(
    found.map((row) => {
      const both = [column.text(row, 'high'), column.text(row, 'low')]
      return [column.integer(row, 'hour_unix'), both.map(readExtreme)]
    }),
  )
}

function readExtreme(text: string): Extreme {
  const [price, liquidity] = text.split(' ')
  return { price: fromStored(price), liquidity: liquidity ? fromStored(liquidity) : null }
}

/** Prices of an hour in dollars; null while unknown. */
interface Candle {
  readonly open: Price | null
  readonly high: Price | null
  readonly low: Price | null
  readonly close: Price | null
}

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
  const first = hours[0] ?? 0
  const ends = [first - 1, ...hours.map((hour) => hour + HOUR_SECONDS - 1)]
  let own: readonly (SourcedPoint | undefined)[] = []
  const quoted = await quoteAlongPath(tokens, symbol, {
    moments: ends.map((unix) => ({ unix })),
    read: async (token, moments) => {
      const points = await closesAt(connection, token, { moments, seconds: HOUR_SECONDS })
      if (token.symbol === symbol) own = points
      return points
    },
  })
  const extremes = await extremesFrom(connection, symbol, first)
  return hours.map((hour, index) => {
    const [open = null, close = null] = quoted.slice(index, index + 2).map(priceOrNull)
    if (close === null) return { open, high: null, low: null, close }
    const [before, at] = [own[index], own[index + 1]]
    // Sources may differ in their quote, so that the extremes of both cannot be compared.
    const isOfOne = at !== undefined && (before === undefined || before.source === at.source)
    const found = isOfOne && at.source.chain !== null ? extremes.get(hour) : undefined
    const within = found && at ? inDollars(tokens, found, { at, close }) : []
    const all = [...within, close, open ?? close]
    return { open, high: all.reduce(greater), low: all.reduce(lesser), close }
  })
}

/** Leaves out those at which the pool held less than its floor. */
function inDollars(
  tokens: readonly PricedToken[],
  extremes: readonly Extreme[],
  { at, close }: { readonly at: SourcedPoint; readonly close: Price },
): readonly Price[] {
  const { price, source } = at
  if (price === null || price === 0n) return []
  const decimals = findToken(tokens, source.quote)?.decimals ?? 0
  const quotePrice = (close * PRICE_ONE) / price
  return extremes.flatMap((each) =>
    isBelowFloor({ ...at, liquidity: each.liquidity }, quotePrice, decimals)
      ? []
      : (close * each.price) / price,
  )
}
