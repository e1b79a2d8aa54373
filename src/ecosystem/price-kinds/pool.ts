import type { AbiEvent } from 'ox/AbiEvent'
import { from } from 'ox/AbiFunction'
import { type Address, showAddress, ZERO_ADDRESS } from '#base/address.ts'
import { PRICE_ONE, type Price } from '#base/money.ts'
import { COIN_ADDRESS } from '#base/token.ts'
import { argument, DecodeError, type EventArguments } from '#ecosystem/event-arguments.ts'
import type {
  AskView,
  Chain,
  ContractPrice,
  PricedToken,
  PricePair,
  PriceReading,
  ProvenPair,
} from '#ecosystem/priced-token.ts'
import type { Problem } from '#ecosystem/problem.ts'
import { defineContractPrice } from './price-kind.ts'

/** A kind of pool of two tokens whose events state what it holds. */
export function definePool<const Kind extends string>(
  kind: Kind,
  event: AbiEvent,
  read: (args: EventArguments, pair: PricePair, chain: Chain) => PriceReading | undefined,
) {
  return defineContractPrice({
    kind,
    events: [event],
    fields: ['quote'],
    options: ['minLiquidityUsd', 'wrapped'],
    resolve: (_resolver, _price, contract) => ({
      read: (args, pair) => read(args, pair, contract.chain),
      prove: (ask, pair) => proveSides(contract, ask, pair),
    }),
  })
}

/** Base units on either side of a trade; below this, rounding shows in its price. */
const TRADE_MIN = 1_000_000n

/** What a trade paid; undefined for one that is too small. */
export function readTrade(pair: PricePair, own: bigint, other: bigint): PriceReading | undefined {
  if (own < TRADE_MIN || other < TRADE_MIN) return undefined
  return { price: computePrice(pair, own, other), liquidity: null }
}

/** Returns the price of a token, from amounts of token and quote of equal value. */
function computePrice({ token, quote }: PricePair, own: bigint, other: bigint): Price {
  return (
    (other * PRICE_ONE * 10n ** BigInt(token.decimals)) /
    (own * 10n ** BigInt(requireQuote({ quote }).decimals))
  )
}

/**
 * The price of amounts of equal value, and what is held, both in the order in which Uniswap sorts its
 * tokens. Nothing can be traded, so there is no price, where one side holds nothing.
 */
export function readSorted(
  pair: PricePair,
  chain: Chain,
  { ratio, held }: { readonly ratio: SortedAmounts; readonly held: SortedAmounts },
): PriceReading {
  const isFirst = sortPair(pair, chain)[0] === pair.token
  const [own, other] = isFirst ? ratio : [ratio[1], ratio[0]]
  const isEmpty = held[0] === 0n || held[1] === 0n || own === 0n
  return {
    price: isEmpty ? null : computePrice(pair, own, other),
    // Both sides are worth the same.
    liquidity: 2n * (isFirst ? held[1] : held[0]),
  }
}

const Q96 = 2n ** 96n
const Q192 = 2n ** 192n

/**
 * `sqrtPriceX96` is the square root of token1 per token0, scaled by 2^96. What is held are the
 * virtual reserves of the liquidity in range (Uniswap v3 whitepaper, 6.2).
 */
export function readSqrtPrice(
  args: EventArguments,
  pair: PricePair,
  chain: Chain,
): PriceReading | undefined {
  const sqrtPriceX96 = argument.amount(args, 'sqrtPriceX96')
  const liquidity = argument.amount(args, 'liquidity')
  if (sqrtPriceX96 === 0n) return undefined
  return readSorted(pair, chain, {
    ratio: [Q192, sqrtPriceX96 * sqrtPriceX96],
    held: [(liquidity * Q96) / sqrtPriceX96, (liquidity * sqrtPriceX96) / Q96],
  })
}

/** In the order in which Uniswap sorts its tokens. */
export type SortedAmounts = readonly [amount0: bigint, amount1: bigint]

/** The tokens of a pair in the order in which Uniswap sorts them. */
export function sortPair(pair: PricePair, chain: Chain): readonly [PricedToken, PricedToken] {
  const [own, other] = [pair.token, requireQuote(pair)]
  return addressOn(chain, own) < addressOn(chain, other) ? [own, other] : [other, own]
}

function requireQuote({ quote }: Pick<PricePair, 'quote'>): PricedToken {
  if (quote === null) throw new DecodeError('a pool price needs a quote')
  return quote
}

export function addressOn(chain: Chain, token: PricedToken): Address {
  return token.addresses.get(chain.name) ?? ZERO_ADDRESS
}

const token0 = from('function token0() view returns (address)')
const token1 = from('function token1() view returns (address)')

export async function proveSides(
  { chain, address }: Pick<ContractPrice, 'chain' | 'address'>,
  ask: AskView,
  pair: ProvenPair,
): Promise<Problem | undefined> {
  const sides = await Promise.all([ask(token0), ask(token1)])
  const place = `${showAddress(address)} on ${chain.name}`
  if (sides.includes(undefined))
    return {
      field: 'kind',
      message: `${place} has no token0() and token1(), so it is not a pool of this kind; correct the kind or the address`,
    }
  const quote = requireQuote(pair)
  const wanted = [pair.token, quote].map((token) => addressOn(chain, token))
  const found = sides.map((side) => String(side).toLowerCase())
  if (wanted.every((side) => found.includes(side))) return undefined
  const isOfCoin = wanted.includes(COIN_ADDRESS)
  const wrapped = isOfCoin ? ', or name what stands for the coin there in "wrapped"' : ''
  const wrong = `the pool at ${place} is of ${found.join(' and ')}, not of ${pair.token.symbol} and ${quote.symbol}`
  const remedy = `correct the address${wrapped}`
  const [other, ...more] = found.filter((side) => side !== wanted[0])
  if (more.length > 0) return { field: 'address', message: `${wrong}; ${remedy}` }
  const right = pair.tokens.find((token) => addressOn(chain, token) === other)
  const better = right ? `write "${right.symbol}"` : `list its other token ${other} in tokens`
  return { field: 'quote', message: `${wrong}; ${better}, or ${remedy}` }
}
