import { decodeAbiParameters, parseAbiItem, parseAbiParameters, toEventSelector } from 'viem'
import type { Hash } from '#domain/address.ts'
import type { Log } from '#domain/chain.ts'
import type { PriceE18 } from '#domain/money.ts'
import type { PricedToken, PriceSource } from '#ecosystem/ecosystem.ts'
import { DecodeError } from '#indexer/decode-event.ts'

export type EventSourceOfPrice = Exclude<PriceSource, { readonly kind: 'fixed' }>

/** A price series: which token, in what quote, from which events. */
export interface PriceSeries {
  readonly token: PricedToken
  readonly source: EventSourceOfPrice
  /** The pool's other token; null for a feed in dollars. */
  readonly quote: PricedToken | null
}

/** One move of one price. */
export interface PriceFact {
  readonly symbol: string
  readonly log: Log
  /** Quote units (or dollars) per whole token, scaled by 10^18. */
  readonly price: PriceE18
}

const TOPICS: Readonly<Record<EventSourceOfPrice['kind'], Hash>> = {
  'uniswap-v2': toEventSelector(parseAbiItem('event Sync(uint112 reserve0, uint112 reserve1)')),
  'uniswap-v3': toEventSelector(
    parseAbiItem(
      'event Swap(address indexed sender, address indexed recipient, int256 amount0, int256 amount1, uint160 sqrtPriceX96, uint128 liquidity, int24 tick)',
    ),
  ),
  chainlink: toEventSelector(
    parseAbiItem(
      'event AnswerUpdated(int256 indexed current, uint256 indexed roundId, uint256 updatedAt)',
    ),
  ),
}

const E18 = 10n ** 18n
const Q192 = 2n ** 192n

/** The event that moves a price of this kind. */
export function topicOf(kind: EventSourceOfPrice['kind']): Hash {
  return TOPICS[kind]
}

/** The price after an event; undefined when the pool is empty. */
export function decodePrice(series: PriceSeries, log: Log): PriceE18 | undefined {
  switch (series.source.kind) {
    case 'uniswap-v2':
      return decodeSync(series, log)
    case 'uniswap-v3':
      return decodeSwap(series, log)
    case 'chainlink':
      return decodeAnswer(series.source.decimals, log)
  }
}

/** Uniswap v2 `Sync`: the reserves of a pair after every change. */
function decodeSync(series: PriceSeries, log: Log): PriceE18 | undefined {
  const [reserve0, reserve1] = decodeAbiParameters(parseAbiParameters('uint112, uint112'), log.data)
  if (reserve0 === 0n || reserve1 === 0n) return undefined
  return ratio(series, reserve0, reserve1)
}

/** Uniswap v3 `Swap`: the square root of token1 per token0, scaled by 2^96. */
function decodeSwap(series: PriceSeries, log: Log): PriceE18 | undefined {
  const [, , sqrtPriceX96] = decodeAbiParameters(
    parseAbiParameters('int256, int256, uint160, uint128, int24'),
    log.data,
  )
  return sqrtPriceX96 === 0n ? undefined : ratio(series, Q192, sqrtPriceX96 * sqrtPriceX96)
}

/** Quote per token out of the amounts of token0 and token1 that are worth the same. */
function ratio(series: PriceSeries, amount0: bigint, amount1: bigint): PriceE18 {
  const { token, quote, source } = series
  if (quote === null) throw new DecodeError('a pool price needs a quote')
  const isToken0 =
    (token.addresses.get(source.chain.name) ?? '') < (quote.addresses.get(source.chain.name) ?? '')
  const [own, other] = isToken0 ? [amount0, amount1] : [amount1, amount0]
  return (other * E18 * 10n ** BigInt(token.decimals)) / (own * 10n ** BigInt(quote.decimals))
}

/** Chainlink `AnswerUpdated`: the answer is the first indexed argument, a signed integer. */
function decodeAnswer(decimals: number, log: Log): PriceE18 {
  const answer = BigInt.asIntN(256, BigInt(log.topics[1] ?? '0x0'))
  if (answer <= 0n) throw new DecodeError(`the feed answered ${answer}`)
  return (answer * E18) / 10n ** BigInt(decimals)
}
