import { accounts, addresses, burnAddress } from '#devnet/addresses.ts'
import { bridgesOn } from '../bridges.ts'
import { type FigureList, supplyText } from '../figures.ts'
import type { WorldPlan } from '../world-plan.ts'
import {
  type CanonicalBlock,
  type CanonicalChain,
  type CanonicalLog,
  isTransferOf,
  readTransfer,
  transactionsOf,
} from './canonical-chain.ts'
import { countTransaction, type RecountedBurn } from './recount-burns.ts'
import { recountHoldings } from './recount-holders.ts'

/** Tokens with supply and holders; of reward tokens only payouts are followed. */
export const trackedTokens = [
  { symbol: 'GRAVE', key: 'grave' },
  { symbol: 'CRYPT', key: 'crypt' },
] as const

export type TrackedToken = (typeof trackedTokens)[number]

interface TokenInput {
  readonly chains: readonly CanonicalChain[]
  readonly plan: WorldPlan
}

/** Figures of a token over all chains. */
export interface TokenSummary {
  readonly symbol: TrackedToken['symbol']
  readonly burned: bigint
  readonly newlyMinted: bigint
  readonly total: bigint
  readonly circulating: bigint
  readonly holders: number
  /** Somebody sent more than it received. */
  readonly isOverdrawn: boolean
  /** Some of its logs cannot be read. */
  readonly isUnreadable: boolean
}

const burnAddresses: readonly string[] = [burnAddress.toLowerCase()]
const locked: readonly string[] = [...burnAddresses, accounts.treasury.toLowerCase()]

/** The burns of both tokens on one chain, in its order. */
export function burnsOn(chain: CanonicalChain) {
  const found: (RecountedBurn & { readonly token: string; readonly block: CanonicalBlock })[] = []
  for (const block of chain.blocks)
    for (const logs of transactionsOf(block)) {
      const burns = trackedTokens.flatMap((token) => {
        const { burns } = countTransaction(logs, countInput(token, chain))
        return burns.map((burn) => ({ ...burn, token: token.symbol, block }))
      })
      found.push(...burns.sort((one, other) => one.place - other.place))
    }
  return found
}

function countInput(
  { symbol, key }: TrackedToken,
  { name }: CanonicalChain,
): Parameters<typeof countTransaction>[1] {
  const bridges = bridgesOn(name).filter(({ token }) => token === symbol)
  return { token: addresses[name][key], bridges, burnAddresses }
}

/** Supply, balances and holders of a token. */
export function addHoldings(list: FigureList, token: TrackedToken, input: TokenInput): void {
  const { symbol } = token
  for (const chain of input.chains) {
    const address = addresses[chain.name][token.key]
    const { balances, ...supply } = supplyOn(chain, token)
    list.add('supply', `${symbol} ${chain.name}`, supplyText(supply))
    addBalances(list, `${symbol} ${chain.name}`, balances)
    // Blocks that may still be reorganised.
    for (const below of [1, input.plan.finalDepth - 1]) {
      const blocks = chain.blocks.slice(0, chain.blocks.length - below)
      const { balances: before } = recountHoldings(blocks, address)
      addBalances(list, `${symbol} ${chain.name} below ${below}`, before)
    }
  }
  list.add('holders', symbol, `${holdersOf(token, input)}`)
}

function addBalances(list: FigureList, place: string, balances: ReadonlyMap<string, bigint>): void {
  for (const [address, balance] of balances)
    if (balance !== 0n) list.add('balance', `${place} ${address}`, `${balance}`)
}

function supplyOn(chain: CanonicalChain, { key }: TrackedToken) {
  const { balances, minted, destroyed, stuck } = recountHoldings(
    chain.blocks,
    addresses[chain.name][key],
  )
  const total = minted - destroyed
  const heldBack = locked.reduce((sum, each) => sum + (balances.get(each) ?? 0n), 0n)
  return { balances, minted, total, circulating: total - stuck - heldBack }
}

/** A wallet on two chains is one holder. */
function holdersOf(token: TrackedToken, { chains }: TokenInput): number {
  const wallets = new Set<string>()
  for (const chain of chains)
    for (const [address, balance] of supplyOn(chain, token).balances)
      if (balance > 0n && !locked.includes(address)) wallets.add(address)
  return wallets.size
}

export function summarise(token: TrackedToken, input: TokenInput): TokenSummary {
  let burned = 0n
  let newlyMinted = 0n
  let total = 0n
  let circulating = 0n
  let isOverdrawn = false
  let isUnreadable = false
  for (const chain of input.chains) {
    const supply = supplyOn(chain, token)
    total += supply.total
    circulating += supply.circulating
    isOverdrawn ||= [...supply.balances.values()].some((balance) => balance < 0n)
    const address = addresses[chain.name][token.key]
    for (const block of chain.blocks) {
      isUnreadable ||= block.logs.some((log) => isUnreadableOf(log, address))
      for (const logs of transactionsOf(block)) {
        const counted = countTransaction(logs, countInput(token, chain))
        newlyMinted += counted.minted
        for (const { amount } of counted.burns) burned += amount
      }
    }
  }
  const holders = holdersOf(token, input)
  const { symbol } = token
  return { symbol, burned, newlyMinted, total, circulating, holders, isOverdrawn, isUnreadable }
}

function isUnreadableOf(log: CanonicalLog, token: string): boolean {
  return isTransferOf(log, token) && readTransfer(log, token) === undefined
}

/** Whether a log of the block belongs to a followed token, and cannot be read. */
export function hasUnreadable({ name }: CanonicalChain, { logs }: CanonicalBlock): boolean {
  const { grave, crypt } = addresses[name]
  return logs.some((log) => isUnreadableOf(log, grave) || isUnreadableOf(log, crypt))
}
