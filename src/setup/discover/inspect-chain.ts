import { type Address, showAddress } from '#domain/address.ts'
import { groupBy } from '#lib/group-by.ts'
import { type BurnHabit, findBurns } from './burn-habits.ts'
import { type ChainEntry, type ChainView, describeChain, SetupError } from './chain-view.ts'
import { contractsAround } from './counterparties.ts'
import { type PaymentAsset, readPaymentAsset } from './payment-asset.ts'
import { findPayouts, type Payout } from './payouts.ts'
import { findPools, type Pool } from './pools.ts'
import { priceQuote, type QuotePrice } from './quote-prices.ts'
import { findFirstBlock, readImplementation, readToken, type TokenFacts } from './token-facts.ts'

export interface Findings {
  readonly entry: ChainEntry
  readonly notes: Readonly<Record<string, string>>
  readonly token: TokenFacts
  readonly implementation: Address | undefined
  readonly burns: readonly BurnHabit[]
  /** The deepest pool with a priced quote; its depth in dollars is of one side. */
  readonly pool: { readonly pool: Pool; readonly usd: number } | undefined
  /** Prices of that quote, of the rewards, and of what these are traded against. */
  readonly quotes: readonly QuotePrice[]
  readonly asset: PaymentAsset | undefined
  readonly payouts: readonly Payout[]
  readonly rewards: readonly TokenFacts[]
}

export interface Inspection {
  readonly view: ChainView & { readonly urls: readonly string[] }
  readonly address: Address
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
  const [{ entry, notes }, implementation] = await Promise.all([
    describeChain(view, first.block),
    readImplementation(view, address),
  ])
  onStep('burns')
  const burns = await findBurns(view, address, first.block)
  onStep('contracts around the token')
  const around = await contractsAround(view, address, { firstBlock: first.block, more })
  onStep('pools')
  const pools = await findPools(view, address, around)
  const pool = await deepestPool(view, pools, first.block)
  onStep('payouts')
  const poolAddresses = new Set(pools.map((each) => each.address))
  const payers = around.filter((each) => !poolAddresses.has(each))
  const payouts = await findPayouts(view, payers, first.block)
  const rewards = await readRewards(view, payouts)
  const quotes = await Promise.all(
    [...rewards.values()].map((each) => priceQuote(view, each, first.block)),
  )
  const priced = [...(pool?.quotes ?? []), ...quotes.flat()]
  return {
    entry,
    notes: { ...notes, startBlock: first.evidence },
    token,
    implementation,
    burns,
    pool,
    quotes: priced,
    asset: await readPaymentAsset(
      view,
      priced.map(({ token: each }) => each),
    ),
    payouts: payouts.filter(({ tokens }) => tokens.some((each) => rewards.has(each))),
    rewards: [...rewards.values()],
  }
}

async function deepestPool(view: ChainView, pools: readonly Pool[], firstBlock: number) {
  const byQuote = [...groupBy(pools, ({ quote }) => quote.address).values()]
  const valued = await Promise.all(
    byQuote.map(async (same) => {
      const [pool] = same.toSorted((a, b) => (a.quoteHeld > b.quoteHeld ? -1 : 1))
      const quotes = pool ? await priceQuote(view, pool.quote, firstBlock) : []
      const [own] = quotes
      if (pool === undefined || own === undefined) return undefined
      const usd = (Number(pool.quoteHeld) / 10 ** pool.quote.decimals) * own.usd
      return { pool, quotes, usd }
    }),
  )
  return valued.filter((each) => each !== undefined).sort((a, b) => b.usd - a.usd)[0]
}

async function readRewards(
  view: ChainView,
  payouts: readonly Payout[],
): Promise<ReadonlyMap<Address, TokenFacts>> {
  const addresses = [...new Set(payouts.flatMap(({ tokens }) => tokens))]
  const facts = await Promise.all(addresses.map((each) => readToken(view, each)))
  return new Map(facts.filter((each) => each !== undefined).map((each) => [each.address, each]))
}
