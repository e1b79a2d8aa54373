import type { Price } from '#domain/money.ts'
import type { Connection } from '#store/engine.ts'

/** Null before the first price. */
export type PriceAt = (
  connection: Connection,
  symbol: string,
  unix: number,
) => Promise<Price | null>
