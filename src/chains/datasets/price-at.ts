import type { Cut } from '#chains/indexer/cut.ts'
import type { Price } from '#domain/money.ts'
import type { Connection } from '#store/engine.ts'

/** Null before the first price. */
export type PriceAt = (
  connection: Connection,
  symbol: string,
  unix: number,
  cut?: Cut,
) => Promise<Price | null>
