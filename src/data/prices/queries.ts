import type { Price } from '#base/money.ts'
import type { Connection } from '#db/engine.ts'
import { column, type Row, sql } from '#db/sql.ts'
import type { EventMoment } from '#index/events/fold-events.ts'

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
  const integerOrNull = (name: string) => {
    const text = column.textOrNull(row, name)
    return text === null ? null : BigInt(text)
  }
  return {
    unix: column.integer(row, 'timestamp_unix'),
    chainId: column.integer(row, 'chain_id'),
    blockNumber: column.integer(row, 'block_number'),
    price: integerOrNull('price'),
    liquidity: integerOrNull('liquidity'),
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

/** Oldest first; both bounds are included. */
export async function pointsBetween(
  connection: Connection,
  symbol: string,
  range: { readonly fromUnix: number; readonly untilUnix: number },
): Promise<readonly PricePoint[]> {
  const found = await connection.run(sql`
    select ${POINT} from price_points
    where symbol = ${symbol}
      and timestamp_unix >= ${range.fromUnix} and timestamp_unix <= ${range.untilUnix}
    order by timestamp_unix, block_number`)
  return found.map(toPoint)
}

/** Those of a range, after the last one before it. */
export async function pointsAround(
  connection: Connection,
  symbol: string,
  range: { readonly fromUnix: number; readonly untilUnix: number },
): Promise<readonly PricePoint[]> {
  const before = await lastPoint(connection, symbol, range.fromUnix - 1)
  const within = await pointsBetween(connection, symbol, range)
  return before === undefined ? within : [before, ...within]
}

/** The last point up to each second from `fromUnix` on, so many apart, by that second. */
export async function pointsEvery(
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
export function lastBefore<Point extends Pick<PricePoint, 'unix' | 'chainId' | 'blockNumber'>>(
  points: readonly Point[],
  moments: readonly EventMoment[],
): readonly (Point | undefined)[] {
  let next = 0
  let earlier: Point | undefined
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

/** Points before the range set its start. */
export function timeWeighted(
  points: readonly { readonly unix: number; readonly price: Price }[],
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
