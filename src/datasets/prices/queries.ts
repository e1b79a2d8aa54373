import type { Price } from '#domain/money.ts'
import type { Connection, Row } from '#store/engine.ts'
import { column } from '#store/row.ts'
import { empty, sql } from '#store/sql.ts'

export interface PricePoint {
  readonly unix: number
  readonly price: Price
}

/** Not a uint256: prices of nearly empty pools can exceed it. */
function readPrice(row: Row): Price {
  return BigInt(column.text(row, 'price'))
}

export async function lastPoint(
  connection: Connection,
  symbol: string,
  unix: number,
  upToBlock?: number,
): Promise<PricePoint | undefined> {
  const [row] = await connection.run(sql`
    select timestamp_unix, price from price_points
    where symbol = ${symbol} and timestamp_unix <= ${unix}
      ${upToBlock === undefined ? empty : sql`and block_number <= ${upToBlock}`}
    order by timestamp_unix desc, block_number desc limit 1`)
  return row && { unix: column.integer(row, 'timestamp_unix'), price: readPrice(row) }
}

export async function nextPoint(
  connection: Connection,
  symbol: string,
  unix: number,
): Promise<number | undefined> {
  const [row] = await connection.run(sql`
    select timestamp_unix from price_points where symbol = ${symbol} and timestamp_unix >= ${unix}
    order by timestamp_unix limit 1`)
  return row && column.integer(row, 'timestamp_unix')
}

/** Oldest first; the first bound is excluded. */
export async function pointsBetween(
  connection: Connection,
  symbol: string,
  range: { readonly afterUnix: number; readonly untilUnix: number },
): Promise<readonly PricePoint[]> {
  const found = await connection.run(sql`
    select timestamp_unix, price from price_points
    where symbol = ${symbol}
      and timestamp_unix > ${range.afterUnix} and timestamp_unix <= ${range.untilUnix}
    order by timestamp_unix, block_number`)
  return found.map((row) => ({
    unix: column.integer(row, 'timestamp_unix'),
    price: readPrice(row),
  }))
}

export async function dayCloses(
  connection: Connection,
  symbol: string,
  range: { readonly fromUnix: number; readonly untilUnix: number },
): Promise<readonly PricePoint[]> {
  const before = await connection.run(sql`
    select day_unix, price from price_days
    where symbol = ${symbol} and day_unix < ${range.fromUnix}
    order by day_unix desc limit 1`)
  const within = await connection.run(sql`
    select day_unix, price from price_days
    where symbol = ${symbol} and day_unix >= ${range.fromUnix} and day_unix <= ${range.untilUnix}
    order by day_unix`)
  return [...before, ...within].map((row) => ({
    unix: column.integer(row, 'day_unix'),
    price: readPrice(row),
  }))
}

/** Undefined without a price. */
export async function firstDay(
  connection: Connection,
  symbol: string,
): Promise<number | undefined> {
  const [row] = await connection.run(sql`
    select day_unix from price_days where symbol = ${symbol} order by day_unix limit 1`)
  return row && column.integer(row, 'day_unix')
}

/** The last point at or before each ascending moment. */
export function carryForward(
  points: readonly PricePoint[],
  moments: readonly number[],
): readonly (Price | null)[] {
  let next = 0
  let current: Price | null = null
  return moments.map((moment) => {
    for (
      let point = points[next];
      point !== undefined && point.unix <= moment;
      point = points[next]
    ) {
      current = point.price
      next += 1
    }
    return current
  })
}

/** Points before the range set its start. */
export function timeWeighted(
  points: readonly PricePoint[],
  range: { readonly fromUnix: number; readonly untilUnix: number },
): Price | null {
  let weighted = 0n
  let seconds = 0n
  for (const [index, point] of points.entries()) {
    const start = Math.max(point.unix, range.fromUnix)
    const end = Math.min(points[index + 1]?.unix ?? range.untilUnix, range.untilUnix)
    if (end <= start) continue
    weighted += point.price * BigInt(end - start)
    seconds += BigInt(end - start)
  }
  return seconds === 0n ? (points.at(-1)?.price ?? null) : weighted / seconds
}
