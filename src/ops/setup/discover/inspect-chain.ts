import { type Address, showAddress } from '#base/address.ts'
import {
  type Around,
  depthOf,
  type Floor,
  findPools,
  floorOf,
  type Pool,
} from '#ops/setup/discover/pools.ts'
import { priceQuote } from '#ops/setup/discover/quote-prices.ts'
import { ask, type ChainEntry, type ChainView, describeChain, SetupError } from './chain-view.ts'
import { type Emitted, listEvents } from './list-events.ts'
import type { QuotePrice } from './quote-prices.ts'
import {
  findFirstBlock,
  type PaymentAsset,
  readPaymentAsset,
  readToken,
  type TokenFacts,
} from './token-facts.ts'

export interface Findings {
  readonly entry: ChainEntry
  readonly notes: Readonly<Record<string, string>>
  readonly token: TokenFacts
  /** Whether the token is a share of a vault (ERC-4626). */
  readonly isShare: boolean
  readonly pool: FoundPool | undefined
  /** The price of the pool's quote, and of what that is traded against. */
  readonly quotes: readonly QuotePrice[]
  readonly asset: PaymentAsset | undefined
  /** What the token and the named contracts emitted lately. */
  readonly events: Emitted
}

interface Inspection {
  readonly view: ChainView & { readonly urls: readonly string[] }
  readonly address: Address
  /** Contracts that the operator named: pools, or what pays holders. */
  readonly more: readonly Address[]
  onStep(step: string): void
}

export async function inspectChain({ view, address, more, onStep }: Inspection): Promise<Findings> {
  onStep('token')
  const token = await readToken(view, address)
  if (token === undefined)
    throw new SetupError(
      `${showAddress(address)} on ${view.name} is not a token: it has no symbol() and decimals(); check the address, or name the one there with --token ${view.name}=0x…`,
    )
  onStep('first block')
  const first = await findFirstBlock(view, address)
  const [{ entry, notes }, vaultAsset] = await Promise.all([
    describeChain(view, first.block),
    ask(view, address, 'asset() view returns (address)'),
  ])
  onStep('pools')
  const around = { contracts: more, firstBlock: first.block }
  const { pool, quotes } = await choosePool(view, token, around)
  onStep('events')
  const events = await listEvents(view, { ...around, contracts: [address, ...more] })
  return {
    entry,
    notes: { ...notes, startBlock: first.evidence },
    token,
    isShare: vaultAsset !== undefined,
    pool,
    quotes,
    asset: await readPaymentAsset(
      view,
      quotes.map((quote) => quote.token),
    ),
    events,
  }
}

interface FoundPool {
  readonly pool: Pick<Pool, 'kind' | 'address' | 'quote'>
  /** Dollars of its quote side. */
  readonly usd: number
  readonly floor: Floor
}

/** Returns the deepest pool whose quote has a price, and the price of the quote. */
async function choosePool(
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
