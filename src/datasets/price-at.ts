import type { Price } from '#domain/money.ts'
import type { Connection } from '#store/engine.ts'

/** The dollar price of a token at a moment (Unix seconds); null before its first price. */
export type PriceAt = (
  connection: Connection,
  symbol: string,
  unix: number,
) => Promise<Price | null>
