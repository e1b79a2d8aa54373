import type { Address } from 'viem'
import { accounts } from '#devnet/addresses.ts'
import { type Call, calls } from '#devnet/calls.ts'
import {
  creationCalls,
  fundingCalls,
  prepareGenesis,
  supplies,
  traderWeth,
} from '#devnet/deploy.ts'
import { mineBlock } from '#devnet/fill-time.ts'
import { marketPriceUsd } from '#devnet/market-price.ts'
import { foundersOf, traders } from '#devnet/people.ts'
import { units } from '#devnet/units.ts'
import { balanceOf, move, type World } from '#devnet/world.ts'

export async function foundChain(world: World, fromUnix: number): Promise<number> {
  const nonces = new Map<Address, number>()
  const { chain } = world
  await prepareGenesis(chain)
  noteFounding(world)
  const blocks = [
    creationCalls(chain),
    fundingCalls(chain),
    [...firstHolderCalls(world), ...marketCalls(world, fromUnix)],
  ]
  let timestampUnix = fromUnix
  for (const block of blocks) {
    timestampUnix += foundingStepSeconds
    await mineBlock(chain, { calls: block, timestampUnix, nonces })
  }
  return timestampUnix
}

const foundingStepSeconds = 60

// Whole tokens; the rest stays with the operator for dividends.
const shares = {
  base: {
    treasury: 150_000_000,
    graveyard: 60_000_000,
    people: { grave: 400_000_000, crypt: 5_200_000 },
  },
  ethereum: {
    treasury: 60_000_000,
    graveyard: 30_000_000,
    people: { grave: 180_000_000, crypt: 2_400_000 },
  },
  arbitrum: {
    treasury: 20_000_000,
    graveyard: 10_000_000,
    people: { grave: 50_000_000, crypt: 800_000 },
  },
} as const

// About 150 USD each: over the gate at any price, far below 0.1 % of CRYPT.
const holderShare = { grave: 6000, crypt: 250 } as const

// CRYPT's supply on base only shrinks, so this stays over 0.1 %.
const premiumShare = { grave: 2000, crypt: 15_000 } as const

const liquidity = { grave: 20_000_000, crypt: 300_000 } as const

function noteFounding(world: World): void {
  const supply = supplies[world.chain.name]
  for (const token of ['grave', 'crypt'] as const) {
    move(world, { token, to: accounts.operator, amount: units(supply[token]) })
  }
  move(world, { token: 'weth', to: accounts.operator, amount: units(100_000) })
  if (world.pools === undefined) return
  for (const trader of traders) {
    move(world, { token: 'weth', to: trader, amount: units(traderWeth) })
  }
}

function firstHolderCalls(world: World): readonly Call[] {
  const share = shares[world.chain.name]
  const gifts: [token: 'grave' | 'crypt', to: Address, tokens: number][] = [
    ['grave', accounts.treasury, share.treasury],
    ['grave', world.chain.addresses.graveyard, share.graveyard],
  ]
  if (world.chain.name === 'base') {
    for (const token of ['grave', 'crypt'] as const) {
      gifts.push([token, accounts.holder, holderShare[token]])
      gifts.push([token, accounts.premium, premiumShare[token]])
    }
  }
  for (const token of ['grave', 'crypt'] as const) {
    for (const [to, tokens] of powerLaw(world, token, share.people[token])) {
      gifts.push([token, to, tokens])
    }
  }
  return gifts.map(([token, to, tokens]) => give(world, { token, to, amount: units(tokens) }))
}

// The n-th largest holder has about 1/n of the largest, as real tokens do.
function powerLaw(
  world: World,
  token: 'grave' | 'crypt',
  total: number,
): readonly [to: Address, tokens: number][] {
  const holders = world.people
    .slice(0, foundersOf[world.chain.name])
    .filter((_, index) => token === 'grave' || index % 3 !== 2 || index < 8)
  const weights = holders.map((_, index) => world.random.between(0.7, 1.3) / (index + 2))
  const sum = weights.reduce((left, right) => left + right, 0)
  return holders.map((to, index) => [to, Math.round((total * (weights[index] ?? 0)) / sum)])
}

function marketCalls(world: World, atUnix: number): readonly Call[] {
  const { seed, chain, pools } = world
  const from = accounts.operator
  const ethUsd = marketPriceUsd({ seed, asset: 'eth', atUnix })
  const answer = BigInt(Math.round(ethUsd * 1e8))
  const feed = calls.submitPrice({ feed: chain.addresses.ethUsdFeed, from, answer })
  if (pools === undefined) return [feed]
  const provide = (['grave', 'crypt'] as const).flatMap((token) => {
    const pool = pools[token]
    const price = marketPriceUsd({ seed, asset: token, atUnix }) / ethUsd
    pool.token = units(liquidity[token])
    pool.weth = units(liquidity[token] * price)
    move(world, { token: 'weth', from, amount: pool.weth })
    return [
      give(world, { token, to: pool.pair, amount: pool.token }),
      calls.transfer({ token: chain.addresses.weth, from, to: pool.pair, amount: pool.weth }),
      calls.addLiquidity({ pair: pool.pair, from }),
    ]
  })
  return [feed, ...provide]
}

function give(
  world: World,
  input: { token: 'grave' | 'crypt'; to: Address; amount: bigint },
): Call {
  const from = accounts.operator
  if (balanceOf(world, input.token, from) < input.amount) throw new RangeError('supply exceeded')
  move(world, { ...input, from })
  return calls.transfer({ ...input, token: world.chain.addresses[input.token], from })
}
