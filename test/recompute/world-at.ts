import { type Address, zeroAddress } from 'viem'
import { burnAddress } from '#devnet/addresses.ts'
import { type Followed, lockedAddresses, type Ticker } from './local-tokens.ts'
import { PRICE_ONE } from './price-scale.ts'
import type { ChainHistory } from './read-chain.ts'
import type { Dig, Payout, Place, PriceMove, Transfer } from './read-events.ts'

/** A burn: a transfer to the zero address or to the burn address. */
export interface Burn extends Transfer {
  readonly method: 'burn' | 'transfer'
}

/** All chains together; lists of events are newest first, as the API shows them. */
export interface WorldAt {
  readonly chains: readonly ChainHistory[]
  readonly asOfUnix: number
  readonly transfers: readonly Transfer[]
  readonly burns: readonly Burn[]
  readonly payouts: readonly Payout[]
  readonly digs: readonly Dig[]
  readonly prices: readonly PriceMove[]
}

export function gatherWorld(chains: readonly ChainHistory[], asOfUnix: number): WorldAt {
  const transfers = newestFirst(chains.flatMap((each) => each.transfers))
  return {
    chains,
    asOfUnix,
    transfers,
    burns: transfers.flatMap(toBurn),
    payouts: newestFirst(chains.flatMap((each) => each.payouts)),
    digs: newestFirst(chains.flatMap((each) => each.digs)),
    prices: chains.flatMap((each) => each.prices),
  }
}

function toBurn(transfer: Transfer): Burn[] {
  if (transfer.amount === 0n || transfer.from === burnAddress.toLowerCase()) return []
  if (transfer.to === zeroAddress) return [{ ...transfer, method: 'burn' }]
  return transfer.to === burnAddress.toLowerCase() ? [{ ...transfer, method: 'transfer' }] : []
}

function newestFirst<E extends Place>(events: readonly E[]): E[] {
  return [...events].sort(
    (a, b) =>
      b.unix - a.unix ||
      b.chainId - a.chainId ||
      b.blockNumber - a.blockNumber ||
      b.logIndex - a.logIndex,
  )
}

/** Days and periods ask for the same figures again and again; brute force is done once each. */
const answers = new WeakMap<WorldAt, Map<string, unknown>>()

export function once<T>(world: WorldAt, key: string, answer: () => T): T {
  const known = answers.get(world) ?? new Map<string, unknown>()
  answers.set(world, known)
  if (!known.has(key)) known.set(key, answer())
  return known.get(key) as T
}

/** US dollars per token, scaled as `PRICE_ONE`, at the end of the last block up to a moment. */
export function priceAt(world: WorldAt, token: Ticker, unix: number): bigint | null {
  return once(world, `price ${token} ${unix}`, () => findPrice(world, token, unix))
}

function findPrice(world: WorldAt, token: Ticker, unix: number): bigint | null {
  if (token === 'USDC') return PRICE_ONE
  const own = lastMove(world, token, unix)
  if (own === undefined || token === 'WETH') return own?.price ?? null
  const ether = priceAt(world, 'WETH', unix)
  return ether === null ? null : halfUp(own.price * ether, PRICE_ONE)
}

export function lastMove(world: WorldAt, token: Ticker, unix: number): PriceMove | undefined {
  return world.prices.findLast((move) => move.token === token && move.unix <= unix)
}

export function halfUp(dividend: bigint, divisor: bigint): bigint {
  return (dividend + divisor / 2n) / divisor
}

/**
 * US dollars per token that value an event: those of the block before; on another chain those of the second before, once
 * the chain of the prices is final up to the event.
 */
export function priceBefore(world: WorldAt, token: Ticker, event: Place): bigint | null {
  const { chain, blockNumber, unix } = event
  const name = `price of ${token} before ${chain} ${blockNumber} ${unix}`
  return once(world, name, () => findPriceBefore(world, token, event))
}

function findPriceBefore(world: WorldAt, token: Ticker, event: Place): bigint | null {
  if (token === 'USDC') return PRICE_ONE
  const base = world.chains.find(({ chain }) => chain.name === 'base')
  if (event.chain !== 'base' && event.unix > (base?.finalizedUnix ?? 0)) return null
  const own = world.prices.findLast(
    (move) =>
      move.token === token &&
      (move.chain === event.chain ? move.blockNumber < event.blockNumber : move.unix < event.unix),
  )
  if (own === undefined || token === 'WETH') return own?.price ?? null
  const ether = priceBefore(world, 'WETH', event)
  return ether === null ? null : halfUp(own.price * ether, PRICE_ONE)
}

/** Supply of a token at the end of a moment, by adding its transfers up. */
export function supplyAt(world: WorldAt, token: Followed, unix: number) {
  return once(world, `supply ${token} ${unix}`, () => addSupply(world, token, unix))
}

function addSupply(world: WorldAt, token: Followed, unix: number) {
  const supply = { minted: 0n, total: 0n, circulating: 0n }
  for (const transfer of world.transfers) {
    if (transfer.token !== token || transfer.unix > unix) continue
    const { from, to, amount } = transfer
    if (from === zeroAddress) supply.minted += amount
    if (from === zeroAddress) supply.total += amount
    if (to === zeroAddress) supply.total -= amount
    if (!isOut(from)) supply.circulating -= amount
    if (!isOut(to)) supply.circulating += amount
  }
  return supply
}

/** Holders of a token at the end of a moment; one who holds on both chains is one holder. */
export function holdersAt(world: WorldAt, token: Followed, unix: number): Set<Address> {
  return once(world, `holders ${token} ${unix}`, () => findHolders(world, token, unix))
}

function findHolders(world: WorldAt, token: Followed, unix: number): Set<Address> {
  const balances = new Map<string, bigint>()
  const add = (chain: string, owner: Address, amount: bigint) =>
    balances.set(`${chain} ${owner}`, (balances.get(`${chain} ${owner}`) ?? 0n) + amount)
  for (const transfer of world.transfers) {
    if (transfer.token !== token || transfer.unix > unix) continue
    add(transfer.chain, transfer.from, -transfer.amount)
    add(transfer.chain, transfer.to, transfer.amount)
  }
  const owners = [...balances]
    .filter(([, balance]) => balance > 0n)
    .map(([key]) => key.split(' ')[1] as Address)
  return new Set(owners.filter((owner) => !isOut(owner)))
}

function isOut(address: Address): boolean {
  return address === zeroAddress || lockedAddresses.includes(address)
}
