import type { PricedToken } from '#chains/ecosystem/priced-token.ts'
import type { AsOfSnapshot } from '#chains/indexer/as-of-snapshot.ts'
import type { Connection } from '#store/engine.ts'
import { lastPoint, type PricePoint } from './queries.ts'

export interface Moment {
  readonly unix: number
  readonly snapshot: AsOfSnapshot | undefined
}

export async function lastPointOf(
  connection: Connection,
  { symbol, prices }: PricedToken,
  { unix, snapshot }: Moment,
): Promise<PricePoint | undefined> {
  if (snapshot === undefined) return lastPoint(connection, symbol, { unix })
  const chainIds = new Set(prices.flatMap(({ chain }) => chain?.id ?? []))
  const points: PricePoint[] = []
  for (const chainId of chainIds) {
    const block = snapshot.get(chainId)
    if (block === undefined) continue
    const upTo = { unix: Math.min(unix, block.unix), block: { chainId, number: block.number } }
    const point = await lastPoint(connection, symbol, upTo)
    if (point !== undefined) points.push(point)
  }
  return points.sort((a, b) => a.unix - b.unix).at(-1)
}
