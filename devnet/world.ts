import type { Address } from 'viem'
import { accounts } from '#devnet/addresses.ts'
import { reads } from '#devnet/calls.ts'
import { type ChainClient, readHead, readWords } from '#devnet/chain-client.ts'
import { foundersOf, peopleOf } from '#devnet/people.ts'
import { createPool, type Pool } from '#devnet/pool.ts'
import { mixSeed, type Random, seededRandom } from '#devnet/random.ts'

/** Balances are tracked, so that no one overspends. */
export type FollowedToken = 'grave' | 'crypt' | 'weth'

export interface Credit {
  readonly account: Address
  readonly token: Address
  readonly amount: bigint
}

/** Mirrors the chain's state. */
export interface World {
  readonly chain: ChainClient
  readonly seed: number
  readonly random: Random
  readonly people: readonly Address[]
  /** Only grows. */
  peopleCount: number
  readonly balances: Readonly<Record<FollowedToken, Map<Address, bigint>>>
  readonly pools: { readonly grave: Pool; readonly crypt: Pool } | undefined
  credits: Credit[]
  readonly due: Map<string, number>
  distributionCount: number
}

export function newWorld(chain: ChainClient, seed: number, headNumber = 0): World {
  const { market } = chain.addresses
  return {
    chain,
    seed,
    random: seededRandom(mixSeed(seed, chain.chainId, headNumber)),
    people: peopleOf(chain.name),
    peopleCount: foundersOf[chain.name],
    balances: { grave: new Map(), crypt: new Map(), weth: new Map() },
    pools: market && {
      grave: createPool(market.gravePair),
      crypt: createPool(market.cryptPair),
    },
    credits: [],
    due: new Map(),
    distributionCount: 0,
  }
}

export async function readWorld(chain: ChainClient, seed: number): Promise<World> {
  const head = await readHead(chain)
  const world = newWorld(chain, seed, head.number)
  await readBalances(world)
  await readCredits(world)
  await readPools(world)
  const holders = world.people.map((person) => (world.balances.grave.get(person) ?? 0n) > 0n)
  world.peopleCount = Math.max(world.peopleCount, holders.lastIndexOf(true) + 1)
  return world
}

export function rewardTokens(chain: ChainClient): readonly Address[] {
  const { usdc, weth, grave } = chain.addresses
  return chain.name === 'base' ? [usdc, weth, grave] : [usdc, weth]
}

export function move(
  world: World,
  input: { token: FollowedToken; from?: Address; to?: Address; amount: bigint },
): void {
  const balances = world.balances[input.token]
  if (input.from) balances.set(input.from, (balances.get(input.from) ?? 0n) - input.amount)
  if (input.to) balances.set(input.to, (balances.get(input.to) ?? 0n) + input.amount)
}

export function balanceOf(world: World, token: FollowedToken, account: Address): bigint {
  return world.balances[token].get(account) ?? 0n
}

async function readBalances(world: World): Promise<void> {
  const { addresses } = world.chain
  const accountsRead = [...world.people, accounts.operator, addresses.graveyard]
  for (const token of ['grave', 'crypt', 'weth'] as const) {
    const questions = accountsRead.map((account) => ({
      to: addresses[token],
      data: reads.balanceOf(account),
    }))
    const words = await readWords(world.chain, questions)
    for (const [index, account] of accountsRead.entries()) {
      world.balances[token].set(account, BigInt(words[index] ?? 0))
    }
  }
}

async function readCredits(world: World): Promise<void> {
  const pairs = rewardTokens(world.chain).flatMap((token) =>
    world.people.map((account) => ({ account, token })),
  )
  const questions = pairs.map(({ account, token }) => ({
    to: world.chain.addresses.distributor,
    data: reads.creditOf(account, token),
  }))
  const words = await readWords(world.chain, questions)
  world.credits = pairs
    .map((pair, index) => ({ ...pair, amount: BigInt(words[index] ?? 0) }))
    .filter((credit) => credit.amount > 0n)
}

async function readPools(world: World): Promise<void> {
  if (world.pools === undefined) return
  for (const token of ['grave', 'crypt'] as const) {
    const pool = world.pools[token]
    const [reserves] = await readWords(world.chain, [{ to: pool.pair, data: reads.getReserves() }])
    if (reserves === undefined) continue
    const first = BigInt(reserves.slice(0, 66))
    const second = BigInt(`0x${reserves.slice(66, 130)}`)
    const { addresses } = world.chain
    const wethFirst = BigInt(addresses.weth) < BigInt(addresses[token])
    pool.weth = wethFirst ? first : second
    pool.token = wethFirst ? second : first
  }
}
