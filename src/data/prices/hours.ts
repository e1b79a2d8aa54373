import { greater, lesser, PRICE_ONE, type Price } from '#base/money.ts'
import { DAY_SECONDS, HOUR_SECONDS, startOfHour } from '#base/time.ts'
import type { Context } from '#context.ts'
import type { BulkInsert, Connection } from '#db/engine.ts'
import { column, fromStored, join, type Row, sql, toStored } from '#db/sql.ts'
import { type PricedToken, quoteOf, tokenOf } from '#ecosystem/priced-token.ts'
import type { Change } from '#index/dataset.ts'
import {
  isBelowFloor,
  priceOrNull,
  quoteAlongPath,
  type SourcedPoint,
  withFixed,
} from './price-book.ts'
import { lastPoint, lastUpTo, POINT, type PricePoint, pointsBetween, toPoint } from './queries.ts'

/** How far candles go back. */
export const CANDLE_DAYS = 90

/** A day more, so that a reorg misses none. */
const KEPT_SECONDS = (CANDLE_DAYS + 1) * DAY_SECONDS

interface PriceHour extends PricePoint {
  /** The highest price within the hour; null where nothing could be traded. */
  readonly high: Extreme | null
  readonly low: Extreme | null
}

type Extreme = Pick<PricePoint, 'liquidity'> & { readonly price: bigint }

type SymbolPoint = PricePoint & { readonly symbol: string }

/** Takes the points of whole blocks, oldest first. */
export async function foldHours(
  { connection }: Pick<Change, 'connection'>,
  points: readonly SymbolPoint[],
): Promise<void> {
  const { keptUnix } = await readSpan(connection)
  const kept = points.filter(({ unix }) => startOfHour(unix) >= keptUnix)
  if (kept.length === 0) return
  const hours = Map.groupBy(kept, ({ symbol, unix }) => `${symbol}|${startOfHour(unix)}`)
  await connection.insert(HOURS, [...hours.values()].map(toRow))
  const symbols = [...new Set(kept.map(({ symbol }) => symbol))]
  await connection.run(sql`
    delete from price_hours where symbol in (${join(symbols)}) and hour_unix < ${keptUnix}`)
}

async function readSpan(connection: Connection) {
  const [row] = await connection.run(sql`select max(timestamp_unix) as unix from positions`)
  const nowUnix = (row && column.integerOrNull(row, 'unix')) ?? 0
  return { nowUnix, keptUnix: nowUnix - KEPT_SECONDS }
}

function toRow(points: readonly SymbolPoint[]) {
  const last = points.at(-1)
  if (last === undefined) throw new Error('an hour without points')
  const [high, low] = [extreme(points, (a, b) => a > b), extreme(points, (a, b) => a < b)]
  const { symbol, unix, chainId, blockNumber, price, liquidity } = last
  const own = [chainId, blockNumber, unix, textOf(price), textOf(liquidity)]
  return [symbol, startOfHour(unix), ...own, ...high, ...low]
}

/** Among equal prices, the one with most liquidity counts, so that the order of commits does not matter. */
function extreme(
  points: readonly SymbolPoint[],
  isBeyond: (price: bigint, than: bigint) => boolean,
): readonly (string | null)[] {
  let found: Extreme | undefined
  for (const { price, liquidity } of points) {
    if (price === null) continue
    const isMore = price === found?.price && (liquidity ?? -1n) > (found.liquidity ?? -1n)
    if (found === undefined || isBeyond(price, found.price) || isMore) found = { price, liquidity }
  }
  if (found === undefined) return [null, null]
  return [toStored(found.price), found.liquidity === null ? null : toStored(found.liquidity)]
}

export function textOf(value: bigint | null): string | null {
  return value === null ? null : value.toString()
}

const LATER = `(excluded.timestamp_unix, excluded.block_number)
  >= (price_hours.timestamp_unix, price_hours.block_number)`

const CLOSE = ['chain_id', 'block_number', 'timestamp_unix', 'price', 'liquidity'].map(
  (name) => `${name} = case when ${LATER} then excluded.${name} else price_hours.${name} end`,
)

const EXTREMES = ['high >', 'low <'].flatMap((each) => {
  const [name] = each.split(' ')
  const more = [`excluded.${name}_liquidity`, `price_hours.${name}_liquidity`]
  return [name, `${name}_liquidity`].map(
    (own) => `${own} = case when price_hours.${name} is null or excluded.${each} price_hours.${name}
      or (excluded.${name} = price_hours.${name} and ${more.map((text) => `coalesce(${text}, '')`).join(' > ')})
    then excluded.${own} else price_hours.${own} end`,
  )
})

const HOURS: BulkInsert = {
  table: 'price_hours',
  columns: {
    symbol: 'text',
    hour_unix: 'bigint',
    chain_id: 'bigint',
    block_number: 'bigint',
    timestamp_unix: 'bigint',
    price: 'text',
    liquidity: 'text',
    high: 'text',
    high_liquidity: 'text',
    low: 'text',
    low_liquidity: 'text',
  },
  conflict: `on conflict (symbol, hour_unix) do update set ${[...CLOSE, ...EXTREMES].join(', ')}`,
}

/** Computes hours again from one on, a day at a time. */
export async function foldHoursAnew(
  { connection }: Pick<Change, 'connection'>,
  symbol: string,
  fromUnix: number,
): Promise<void> {
  const { nowUnix, keptUnix } = await readSpan(connection)
  // Older hours may still be there: they go only with a later point.
  await connection.run(sql`
    delete from price_hours where symbol = ${symbol} and hour_unix >= ${startOfHour(fromUnix)}`)
  const first = startOfHour(Math.max(fromUnix, keptUnix))
  for (let from = first; from <= nowUnix; from += DAY_SECONDS) {
    const day = { fromUnix: from, untilUnix: from + DAY_SECONDS - 1 }
    const points = await pointsBetween(connection, symbol, day)
    if (points.length > 0)
      await foldHours(
        { connection },
        points.map((each) => ({ ...each, symbol })),
      )
  }
}

/** Hours with a point, oldest first. */
export async function hoursBetween(
  connection: Connection,
  symbol: string,
  range: { readonly fromUnix: number; readonly untilUnix: number },
): Promise<readonly PriceHour[]> {
  const found = await connection.run(sql`
    select ${POINT}, high, high_liquidity, low, low_liquidity from price_hours
    where symbol = ${symbol} and hour_unix >= ${range.fromUnix} and hour_unix <= ${range.untilUnix}
    order by hour_unix`)
  return found.map((row) => ({
    ...toPoint(row),
    high: extremeOf(row, 'high'),
    low: extremeOf(row, 'low'),
  }))
}

function extremeOf(row: Row, name: 'high' | 'low'): Extreme | null {
  const price = column.textOrNull(row, name)
  const liquidity = column.textOrNull(row, `${name}_liquidity`)
  if (price === null) return null
  return { price: fromStored(price), liquidity: liquidity === null ? null : fromStored(liquidity) }
}

/** Prices of an hour in dollars; null while unknown. */
interface Candle {
  /** The price at the end of the hour before. */
  readonly open: Price | null
  readonly high: Price | null
  readonly low: Price | null
  readonly close: Price | null
}

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
  let own: readonly (HourEnd | undefined)[] = []
  const quoted = await quoteAlongPath(tokens, symbol, {
    moments: ends.map((unix) => ({ unix })),
    read: async (token, at) => {
      const units = at.map(({ unix }) => unix)
      const points = await hourEnds(connection, token, units)
      if (token.symbol === symbol) own = points
      return points
    },
  })
  return hours.map((hour, index) => {
    const [open = null, close = null] = quoted.slice(index, index + 2).map(priceOrNull)
    if (close === null) return { open, high: null, low: null, close }
    const [before, at] = [own[index], own[index + 1]]
    // Sources may differ in their quote, so that the extremes of both cannot be compared.
    const isOfOne = before === undefined || before.source === at?.source
    const within =
      at !== undefined && isOfOne && at.unix >= hour ? extremesOf(tokens, at, close) : []
    const all = [...within, close, open ?? close]
    return { open, high: all.reduce(greater), low: all.reduce(lesser), close }
  })
}

/** Leaves out those at which the pool held less than its floor. */
function extremesOf(tokens: readonly PricedToken[], at: HourEnd, close: Price): readonly Price[] {
  const { price, source } = at
  if (price === null || price === 0n) return []
  const decimals = tokenOf(tokens, quoteOf(source))?.decimals ?? 0
  const quotePrice = (close * PRICE_ONE) / price
  return [at.high, at.low].flatMap((each) =>
    each == null || isBelowFloor({ ...at, liquidity: each.liquidity }, quotePrice, decimals)
      ? []
      : (close * each.price) / price,
  )
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
