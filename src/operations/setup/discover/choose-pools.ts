import { findFirstLog } from '../first-log.ts'
import type { ChainView } from './chain-view.ts'
import { type Floor, floorOf } from './pool-floor.ts'
import type { Pool } from './pools.ts'
import { priceQuote, type QuotePrice } from './quote-prices.ts'
import { readNewest } from './read-price.ts'
import type { TokenFacts } from './token-facts.ts'

export interface FoundPool {
  readonly pool: Pick<Pool, 'kind' | 'address' | 'quote'>
  /** Dollars of one side: now, or of an older pool when the next one began. */
  readonly usd: number
  readonly floor: Floor
  /** The block of its first event; null for the first of the list. */
  readonly since: number | null
}

export interface ChosenPools {
  /** Oldest first; the last is the deepest one now. */
  readonly pools: readonly FoundPool[]
  /** Prices of their quotes. */
  readonly quotes: readonly QuotePrice[]
}

interface Valued {
  readonly pool: Pool
  readonly quotes: readonly QuotePrice[]
  readonly quoteUsd: number
}

/** A token that changed its pool more often needs a person. */
const POOLS_MAX = 4

/** The deepest pool whose quote has a price and, for the time before its first event, older ones. */
export async function choosePools(
  view: ChainView,
  token: TokenFacts,
  { pools, firstBlock }: { readonly pools: readonly Pool[]; readonly firstBlock: number },
): Promise<ChosenPools> {
  let left = await valueAll(view, pools, firstBlock)
  const held = left.filter(({ pool }) => pool.quoteHeld > 0n)
  let next = held.sort((a, b) => usdOf(b) - usdOf(a))[0]
  let found = next && { usd: usdOf(next), newest: next.pool.newest }
  const chosen: FoundPool[] = []
  const quotes: QuotePrice[] = []
  while (next !== undefined && found !== undefined) {
    const { pool, quoteUsd } = next
    left = left.filter((each) => each.pool !== pool)
    const isLast = left.length === 0 || chosen.length === POOLS_MAX - 1
    const first = isLast ? null : await firstBlockOf(view, pool, firstBlock)
    const older =
      first === null ? [] : await readAt(view, token, { left, firstBlock, head: first - 1 })
    const [best] = older.sort((a, b) => b.usd - a.usd)
    const floor = floorOf({ newest: found.newest, quote: pool.quote }, quoteUsd)
    chosen.unshift({ pool, usd: found.usd, floor, since: best === undefined ? null : first })
    quotes.push(...next.quotes)
    next = best?.valued
    found = best
  }
  return { pools: chosen, quotes }
}

async function valueAll(view: ChainView, pools: readonly Pool[], firstBlock: number) {
  const byQuote = [...Map.groupBy(pools, ({ quote }) => quote.address).values()]
  const valued = await Promise.all(
    byQuote.map(async (same): Promise<readonly Valued[]> => {
      const [first] = same
      const quotes = first ? await priceQuote(view, first.quote, firstBlock) : []
      const [own] = quotes
      return own ? same.map((pool) => ({ pool, quotes, quoteUsd: own.usd })) : []
    }),
  )
  return valued.flat()
}

function usdOf({ pool: { quoteHeld, quote }, quoteUsd }: Valued): number {
  return (Number(quoteHeld) / 10 ** quote.decimals) * quoteUsd
}

async function firstBlockOf(
  { source, headNumber }: ChainView,
  { address, newest }: Pool,
  firstBlock: number,
): Promise<number | null> {
  const filter = { addresses: [address], topics: [[newest.topic0]] }
  return (await findFirstLog(source, { filter, from: firstBlock, to: headNumber })).block
}

/** What the others held at a block, as their events before it say. */
async function readAt(
  view: ChainView,
  token: TokenFacts,
  {
    left,
    firstBlock,
    head,
  }: { readonly left: readonly Valued[]; firstBlock: number; head: number },
) {
  const found = await Promise.all(
    left.map(async (valued) => {
      const { kind, address, quote } = valued.pool
      const candidate = { price: { kind, address }, token, quote, firstBlock }
      const newest = await readNewest({ ...view, headNumber: head }, candidate)
      if (newest === undefined) return undefined
      const usd = (Number(newest.reading.liquidity) / 2 / 10 ** quote.decimals) * valued.quoteUsd
      return { valued, newest, usd }
    }),
  )
  return found.filter((each) => each !== undefined)
}
