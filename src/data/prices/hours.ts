import { greater, lesser, PRICE_ONE, type Price } from '#base/money.ts'
import { DAY_SECONDS, HOUR_SECONDS, startOfHour } from '#base/time.ts'
import type { Context } from '#context.ts'
import type { BulkInsert, Connection } from '#db/engine.ts'
import { column, fromStored, join, type Row, sql, toStored } from '#db/sql.ts'
import { findQuote, findToken, type PricedToken } from '#ecosystem/priced-token.ts'
import type { Change } from '#index/dataset.ts'
import {
  closesAt,
  isBelowFloor,
  type PricePoint,
  pointsBetween,
  priceOrNull,
  quoteAlongPath,
  type SourcedPoint,
} from './price-book.ts'

export const CANDLE_DAYS = 90

/** A day more, so that a reorg misses none. */
const KEPT_SECONDS = (CANDLE_DAYS + 1) * DAY_SECONDS

/** The prices of an hour; null where nothing could be traded. */
interface Extremes {
  readonly high: Extreme | null
  readonly low: Extreme | null
}

type Extreme = Pick<PricePoint, 'liquidity'> & { readonly price: bigint }

type SymbolPoint = Pick<PricePoint, 'unix' | 'price' | 'liquidity'> & { readonly symbol: string }

export async function foldHours(
  { connection }: Pick<Change, 'connection'>,
  points: readonly SymbolPoint[],
): Promise<void> {
  const { keptUnix } = await readSpan(connection)
  const kept = points.filter(({ unix }) => startOfHour(unix) >= keptUnix)
  if (kept.length === 0) return
  const hours = Map.groupBy(kept, ({ symbol, unix }) => `${symbol}|${startOfHour(unix)}`)
  const rows = [...hours.values()].map((own) => [
    own[0]?.symbol ?? '',
    startOfHour(own[0]?.unix ?? 0),
    ...extreme(own, (a, b) => a > b),
    ...extreme(own, (a, b) => a < b),
  ])
  await connection.insert(HOURS, rows)
  const symbols = [...new Set(kept.map(({ symbol }) => symbol))]
  await connection.run(sql`
    delete from price_hours where symbol in (${join(symbols)}) and hour_unix < ${keptUnix}`)
}

async function readSpan(connection: Connection) {
  const [row] = await connection.run(sql`select max(timestamp_unix) as unix from positions`)
  const nowUnix = (row && column.integerOrNull(row, 'unix')) ?? 0
  return { nowUnix, keptUnix: nowUnix - KEPT_SECONDS }
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

const BEYOND = ['high >', 'low <'].flatMap((each) => {
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
    high: 'text',
    high_liquidity: 'text',
    low: 'text',
    low_liquidity: 'text',
  },
  conflict: `on conflict (symbol, hour_unix) do update set ${BEYOND.join(', ')}`,
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
    const own = points.map((each) => ({ ...each, symbol }))
    await foldHours({ connection }, own)
  }
}

/** Those of hours with a point, by hour. */
export async function extremesFrom(
  connection: Connection,
  symbol: string,
  fromUnix: number,
): Promise<ReadonlyMap<number, Extremes>> {
  const found = await connection.run(sql`
    select hour_unix, high, high_liquidity, low, low_liquidity from price_hours
    where symbol = ${symbol} and hour_unix >= ${fromUnix}`)
  return new Map(
    found.map((row) => {
      const [high, low] = [readExtreme(row, 'high'), readExtreme(row, 'low')]
      return [column.integer(row, 'hour_unix'), { high, low }]
    }),
  )
}

function readExtreme(row: Row, name: 'high' | 'low'): Extreme | null {
  const price = column.textOrNull(row, name)
  const liquidity = column.textOrNull(row, `${name}_liquidity`)
  if (price === null) return null
  return { price: fromStored(price), liquidity: liquidity === null ? null : fromStored(liquidity) }
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
  { high, low }: Extremes,
  { at, close }: { readonly at: SourcedPoint; readonly close: Price },
): readonly Price[] {
  const { price, source } = at
  if (price === null || price === 0n) return []
  const decimals = findToken(tokens, findQuote(source))?.decimals ?? 0
  const quotePrice = (close * PRICE_ONE) / price
  return [high, low].flatMap((each) =>
    each === null || isBelowFloor({ ...at, liquidity: each.liquidity }, quotePrice, decimals)
      ? []
      : (close * each.price) / price,
  )
}
