import type { ChainView } from './chain-view.ts'
import { type Around, type Floor, findPools, floorOf, type Pool } from './pools.ts'
import { priceQuote, type QuotePrice } from './quote-prices.ts'
import type { TokenFacts } from './token-facts.ts'

export interface FoundPool {
  readonly pool: Pick<Pool, 'kind' | 'address' | 'quote'>
  /** Dollars of its quote side. */
  readonly usd: number
  readonly floor: Floor
}

/** Returns the deepest pool whose quote has a price, and the price of the quote. */
export async function choosePool(
  view: ChainView,
  token: TokenFacts,
  around: Around,
): Promise<{ readonly pool: FoundPool | undefined; readonly quotes: readonly QuotePrice[] }> {
  const pools = await findPools(view, token, around)
  const byQuote = [...Map.groupBy(pools, ({ quote }) => quote.address).values()]
  const valued = await Promise.all(
    byQuote.map(async (same) => {
      const [first] = same
      const quotes = first === undefined ? [] : await priceQuote(view, first.quote, around)
      const [own] = quotes
      if (own === undefined) return []
      return same.map((pool) => ({ pool, quotes, quoteUsd: own.usd, usd: depthOf(pool) * own.usd }))
    }),
  )
  const [best] = valued.flat().sort((a, b) => b.usd - a.usd)
  if (best === undefined) return { pool: undefined, quotes: [] }
  const { pool, usd, quotes, quoteUsd } = best
  return { pool: { pool, usd, floor: floorOf(pool, quoteUsd) }, quotes }
}

function depthOf({ quote, quoteHeld }: Pool): number {
  return Number(quoteHeld) / 10 ** quote.decimals
}
