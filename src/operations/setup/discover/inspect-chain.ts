import type { SourceLog } from '#chains/chain/chain-source.ts'
import { type Address, parseAddress, showAddress } from '#domain/address.ts'
import { COIN_ADDRESS, tokenAddress } from '#domain/token.ts'
import { type FoundBridge, findBridges } from './bridges.ts'
import { type BurnHabit, findBurns } from './burn-habits.ts'
import { ask, type ChainEntry, type ChainView, describeChain, SetupError } from './chain-view.ts'
import { choosePools, type FoundPool } from './choose-pools.ts'
import { contractsAround } from './counterparties.ts'
import { type PaymentAsset, readPaymentAsset } from './payment-asset.ts'
import { findPayouts, type Payout } from './payouts.ts'
import { findPools } from './pools.ts'
import { priceQuote, type QuotePrice } from './quote-prices.ts'
import { readNewest } from './read-price.ts'
import { findFirstBlock, readImplementation, readToken, type TokenFacts } from './token-facts.ts'
import { describeUnread } from './unread-events.ts'

export interface Findings {
  readonly entry: ChainEntry
  readonly notes: Readonly<Record<string, string>>
  readonly token: TokenFacts
  readonly implementation: Address | undefined
  readonly burns: readonly BurnHabit[]
  readonly bridges: readonly FoundBridge[]
  /** What the token is a share of, if it is a vault (ERC-4626). */
  readonly shareOf: Address | undefined
  /** The asset of a vault by whose deposits its shares can be priced. */
  readonly vaultAsset: TokenFacts | undefined
  /** Sources of its price, oldest first. */
  readonly pools: readonly FoundPool[]
  /** Prices of their quotes, of the rewards, and of what these are traded against. */
  readonly quotes: readonly QuotePrice[]
  readonly asset: PaymentAsset | undefined
  readonly payouts: readonly Payout[]
  /** Payouts of the coin, or of nothing that a log shows. */
  readonly untold: readonly Payout[]
  readonly rewards: readonly TokenFacts[]
  /** What was seen and is in no part of the file. */
  readonly remarks: readonly string[]
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
  const [{ entry, notes }, implementation, asset] = await Promise.all([
    describeChain(view, first.block),
    readImplementation(view, address),
    ask(view, address, 'asset() view returns (address)'),
  ])
  onStep('burns')
  const [burns, bridges] = await Promise.all([
    findBurns(view, address, first.block),
    findBridges(view, address, first.block),
  ])
  onStep('contracts around the token')
  const around = await contractsAround(view, address, { firstBlock: first.block, more })
  onStep('pools')
  const pools = await findPools(view, token, { contracts: around, firstBlock: first.block })
  const chosen = await choosePools(view, token, { pools, firstBlock: first.block })
  const shareOf = typeof asset === 'string' ? parseAddress(asset.toLowerCase()) : undefined
  const vaultAsset =
    shareOf !== undefined && chosen.pools.length === 0
      ? await readVaultAsset(view, token, { asset: shareOf, firstBlock: first.block })
      : undefined
  onStep('payouts')
  const poolAddresses = new Set(pools.map((each) => each.address))
  const payers = around.filter((each) => !poolAddresses.has(each))
  const payouts = await findPayouts(view, payers, first.block)
  const rewards = await readRewards(view, payouts)
  const quotes = await Promise.all(
    [...rewards.values(), ...(vaultAsset ? [vaultAsset] : [])].map((each) =>
      priceQuote(view, each, first.block),
    ),
  )
  const priced = [...chosen.quotes, ...quotes.flat()]
  const told = sortPayouts(payouts, rewards)
  onStep('other events')
  const read = new Set([
    ...told.payouts.map((each) => `${each.address} ${each.topic0}`),
    ...bridges.filter(({ known }) => known).map((each) => `${each.address} ${each.topic0}`),
  ])
  const isRead = (log: SourceLog) => read.has(`${log.address} ${log.topics[0]}`)
  const unread = [[address], payers.filter((each) => each !== address)].map((contracts) =>
    describeUnread(view, { contracts, firstBlock: first.block, isRead }),
  )
  return {
    entry,
    notes: { ...notes, startBlock: first.evidence },
    token,
    implementation,
    burns,
    bridges,
    shareOf,
    vaultAsset,
    pools: chosen.pools,
    quotes: priced,
    asset: await readPaymentAsset(
      view,
      priced.map(({ token: each }) => each),
    ),
    ...told,
    rewards: [...rewards.values()],
    remarks: (await Promise.all(unread)).flat(),
  }
}

async function readVaultAsset(
  view: ChainView,
  token: TokenFacts,
  { asset, firstBlock }: { readonly asset: Address; readonly firstBlock: number },
): Promise<TokenFacts | undefined> {
  const quote = await readToken(view, asset)
  const price = { kind: 'erc4626', address: token.address } as const
  return quote && (await readNewest(view, { price, token, quote, firstBlock })) && quote
}

async function readRewards(
  view: ChainView,
  payouts: readonly Payout[],
): Promise<ReadonlyMap<Address, TokenFacts>> {
  const addresses = [...new Set(payouts.flatMap(({ tokens }) => tokens))]
  const facts = await Promise.all(addresses.map((each) => readToken(view, each)))
  return new Map(facts.filter((each) => each !== undefined).map((each) => [each.address, each]))
}

function sortPayouts(
  all: readonly Payout[],
  rewards: ReadonlyMap<Address, TokenFacts>,
): Pick<Findings, 'payouts' | 'untold'> {
  return {
    payouts: all.filter(({ tokens }) => tokens.some((each) => rewards.has(each))),
    untold: all.filter(({ tokens }) => tokens.every((each) => tokenAddress(each) === COIN_ADDRESS)),
  }
}
