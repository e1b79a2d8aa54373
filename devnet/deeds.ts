import type { Address } from 'viem'
import { accounts, burnAddress } from '#devnet/addresses.ts'
import { type Call, calls } from '#devnet/calls.ts'
import { marketPriceUsd } from '#devnet/market-price.ts'
import type { Pace } from '#devnet/pace.ts'
import { diggersOf, traders } from '#devnet/people.ts'
import { applySwap, swapTowards } from '#devnet/pool.ts'
import { toTokens, units } from '#devnet/units.ts'
import { balanceOf, move, rewardTokens, type World } from '#devnet/world.ts'

/** Unix seconds, and the scale of amounts. */
export interface DeedContext {
  readonly atUnix: number
  readonly pace: Pace
}

/** Updates the world and returns the transactions; empty if impossible. */
export type Deed = (world: World, context: DeedContext) => readonly Call[]

export const deeds: Readonly<Record<string, Deed>> = {
  updateFeed,
  distribute,
  claim,
  dig,
  transferGrave: (world, context) => transfer(world, context, 'grave'),
  transferCrypt: (world, context) => transfer(world, context, 'crypt'),
  burnGrave: (world, context) => burn(world, context, 'grave'),
  buryGrave: (world, context) => bury(world, context, 'grave'),
  burnCrypt: (world, context) => burn(world, context, 'crypt'),
  buryCrypt: (world, context) => bury(world, context, 'crypt'),
  swapGrave: (world, context) => swap(world, context, 'grave'),
  swapCrypt: (world, context) => swap(world, context, 'crypt'),
}

type Ticker = 'grave' | 'crypt'

function updateFeed(world: World, context: DeedContext): readonly Call[] {
  const answer = BigInt(Math.round(priceUsd(world, context, 'eth') * 1e8))
  return [
    calls.submitPrice({ feed: world.chain.addresses.ethUsdFeed, from: accounts.operator, answer }),
  ]
}

function distribute(world: World, context: DeedContext): readonly Call[] {
  const { distributor } = world.chain.addresses
  const tokens = rewardTokens(world.chain)
  const token = tokens[world.distributionCount % tokens.length]
  if (token === undefined) return []
  world.distributionCount += 1
  const amount = rewardAmount(world, context, token)
  const shares = shareOut(world, amount)
  world.credits.push(...shares.map((share) => ({ ...share, token })))
  noteReward(world, { token, from: accounts.operator, amount })
  return [
    calls.distribute({ distributor, from: accounts.operator, token, amount }),
    calls.credit({
      distributor,
      from: accounts.operator,
      token,
      accounts: shares.map((share) => share.account),
      amounts: shares.map((share) => share.amount),
    }),
  ]
}

function claim(world: World): readonly Call[] {
  const index = world.random.below(world.credits.length)
  const [credit] = world.credits.splice(index, 1)
  if (credit === undefined) return []
  noteReward(world, { token: credit.token, to: credit.account, amount: credit.amount })
  return [calls.claim({ distributor: world.chain.addresses.distributor, ...credit })]
}

function dig(world: World, context: DeedContext): readonly Call[] {
  const { graveyard } = world.chain.addresses
  const diggers = diggersOf(world.people)
  const digger = diggers[Math.floor(world.random.unit() ** 2 * diggers.length)]
  const wanted = Math.min(world.random.logNormal(1200, 0.9), 45_000) * context.pace.size
  const amount = units(roundish(world, wanted))
  if (digger === undefined || balanceOf(world, 'grave', graveyard) < amount) return []
  move(world, { token: 'grave', from: graveyard, to: digger, amount })
  return [calls.dig({ graveyard, digger, amount })]
}

function transfer(world: World, context: DeedContext, token: Ticker): readonly Call[] {
  const from = someHolder(world, token)
  if (from === undefined) return []
  const balance = balanceOf(world, token, from)
  const leaves = context.pace.size === 1 && toTokens(balance) < 30_000 && world.random.unit() < 0.03
  const share = world.random.between(0.01, 0.25) * context.pace.size
  const amount = leaves ? balance : units(roundish(world, toTokens(balance) * share))
  const to = someRecipient(world, context)
  if (amount === 0n || amount > balance || to === from) return []
  move(world, { token, from, to, amount })
  return [calls.transfer({ token: world.chain.addresses[token], from, to, amount })]
}

function burn(world: World, context: DeedContext, token: Ticker): readonly Call[] {
  const giver = burnable(world, context, token)
  if (giver === undefined) return []
  move(world, { token, ...giver })
  return [calls.burn({ token: world.chain.addresses[token], ...giver })]
}

function bury(world: World, context: DeedContext, token: Ticker): readonly Call[] {
  const giver = burnable(world, context, token)
  if (giver === undefined) return []
  move(world, { token, ...giver })
  return [calls.transfer({ token: world.chain.addresses[token], to: burnAddress, ...giver })]
}

function swap(world: World, context: DeedContext, token: Ticker): readonly Call[] {
  const { addresses } = world.chain
  const pool = world.pools?.[token]
  if (pool === undefined || addresses.market === undefined) return []
  const target = priceUsd(world, context, token) / priceUsd(world, context, 'eth')
  const noise = 0.006 * context.pace.size ** 0.3
  const trade = swapTowards(pool, target * world.random.logNormal(1, noise))
  const paidWith = trade.side === 'buy' ? 'weth' : token
  const able = traders.filter((trader) => balanceOf(world, paidWith, trader) >= trade.amountIn)
  if (able.length === 0 || trade.amountIn === 0n || trade.amountOut === 0n) return []
  const trader = world.random.pick(able)
  applySwap(pool, trade)
  move(world, { token: paidWith, from: trader, amount: trade.amountIn })
  const paidOut = trade.side === 'buy' ? token : 'weth'
  move(world, { token: paidOut, to: trader, amount: trade.amountOut })
  const tokenIn = addresses[paidWith]
  const { router } = addresses.market
  return [calls.swap({ router, trader, pair: pool.pair, tokenIn, amountIn: trade.amountIn })]
}

function priceUsd(world: World, context: DeedContext, asset: Ticker | 'eth'): number {
  return marketPriceUsd({ seed: world.seed, asset, atUnix: context.atUnix })
}

function rewardAmount(world: World, context: DeedContext, token: Address): bigint {
  const { usdc, weth } = world.chain.addresses
  const usd = world.random.between(1500, 4500) * context.pace.size
  if (token === usdc) return units(usd, 6)
  return units(usd / priceUsd(world, context, token === weth ? 'eth' : 'grave'))
}

// Eight percent of a round stay uncredited, for tests to claim.
function shareOut(world: World, amount: bigint): { account: Address; amount: bigint }[] {
  const picked = Array.from({ length: 14 }, () => {
    const index = Math.floor(world.random.unit() ** 1.6 * world.peopleCount)
    return { account: world.people[index], weight: world.random.logNormal(100, 0.8) }
  })
  const weightSum = picked.reduce((sum, { weight }) => sum + weight, 0)
  return picked.flatMap(({ account, weight }) => {
    if (account === undefined) return []
    const millionths = BigInt(Math.floor((weight / weightSum) * 920_000))
    return [{ account, amount: (amount * millionths) / 1_000_000n }]
  })
}

function noteReward(
  world: World,
  input: { token: Address; from?: Address; to?: Address; amount: bigint },
): void {
  const { grave, weth } = world.chain.addresses
  if (input.token === grave) move(world, { ...input, token: 'grave' })
  if (input.token === weth) move(world, { ...input, token: 'weth' })
}

function burnable(
  world: World,
  context: DeedContext,
  token: Ticker,
): { from: Address; amount: bigint } | undefined {
  const from = someHolder(world, token)
  if (from === undefined) return undefined
  const wanted = world.random.logNormal(token === 'grave' ? 6000 : 45, 1) * context.pace.size
  const most = toTokens(balanceOf(world, token, from)) / 4
  const amount = units(roundish(world, Math.min(wanted, most)))
  return amount === 0n ? undefined : { from, amount }
}

function someHolder(world: World, token: Ticker): Address | undefined {
  const least = units(token === 'grave' ? 50 : 1)
  for (let attempt = 0; attempt < holderAttempts; attempt += 1) {
    const person = world.people[world.random.below(world.peopleCount)]
    if (person !== undefined && balanceOf(world, token, person) >= least) return person
  }
  return undefined
}

// More than half of the people hold either token.
const holderAttempts = 8

function someRecipient(world: World, context: DeedContext): Address {
  const newcomer = world.people[world.peopleCount]
  if (newcomer !== undefined && world.random.unit() < 0.05 / context.pace.rate) {
    world.peopleCount += 1
    return newcomer
  }
  return world.random.pick(world.people.slice(0, world.peopleCount))
}

// People prefer round numbers.
function roundish(world: World, amount: number): number {
  return world.random.unit() < 0.5 ? Number(amount.toPrecision(2)) : amount
}
