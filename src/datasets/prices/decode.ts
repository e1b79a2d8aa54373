import { from, getSelector } from 'ox/AbiEvent'
import type { Hash } from '#domain/address.ts'
import type { Log } from '#domain/chain.ts'
import { PRICE_ONE, type Price } from '#domain/money.ts'
import type { PricedToken, PriceSource } from '#ecosystem/ecosystem.ts'
import { argument, DecodeError, type EventArguments } from '#ecosystem/event-arguments.ts'
import { compileWordDecoder } from '#indexer/word-decoder.ts'

export type EventSourceOfPrice = Exclude<PriceSource, { readonly kind: 'fixed' }>

export interface PriceSeries {
  readonly token: PricedToken
  readonly source: EventSourceOfPrice
  /** Null for a feed in dollars. */
  readonly quote: PricedToken | null
}

export interface PriceFact {
  readonly symbol: string
  readonly log: Pick<Log, 'chainId' | 'blockNumber' | 'timestamp'>
  /** Quote units or dollars per whole token. */
  readonly price: Price
}

const SYNC = from('event Sync(uint112 reserve0, uint112 reserve1)')
const SWAP = from(
  'event Swap(address indexed sender, address indexed recipient, int256 amount0, int256 amount1, uint160 sqrtPriceX96, uint128 liquidity, int24 tick)',
)
const ANSWER = from(
  'event AnswerUpdated(int256 indexed current, uint256 indexed roundId, uint256 updatedAt)',
)

const readSync = compileWordDecoder(SYNC)
const readSwap = compileWordDecoder(SWAP)
const readAnswer = compileWordDecoder(ANSWER)

const TOPICS: Readonly<Record<EventSourceOfPrice['kind'], Hash>> = {
  'uniswap-v2': getSelector(SYNC),
  'uniswap-v3': getSelector(SWAP),
  chainlink: getSelector(ANSWER),
}

const Q192 = 2n ** 192n

export function topicOf(kind: EventSourceOfPrice['kind']): Hash {
  return TOPICS[kind]
}

export function decodePrice(series: PriceSeries, log: Log): Price | undefined {
  switch (series.source.kind) {
    case 'uniswap-v2':
      return decodeSync(series, log)
    case 'uniswap-v3':
      return decodeSwap(series, log)
    case 'chainlink':
      return decodeAnswer(series.source.decimals, log)
  }
}

/** Reserves after every change of a pair. */
function decodeSync(series: PriceSeries, log: Log): Price | undefined {
  const args = readSync?.(log)
  const [reserve0, reserve1] = [amountOf(args, 'reserve0'), amountOf(args, 'reserve1')]
  if (reserve0 === 0n || reserve1 === 0n) return undefined
  return ratio(series, reserve0, reserve1)
}

/** The square root of token1 per token0, scaled by 2^96. */
function decodeSwap(series: PriceSeries, log: Log): Price | undefined {
  const sqrtPriceX96 = amountOf(readSwap?.(log), 'sqrtPriceX96')
  return sqrtPriceX96 === 0n ? undefined : ratio(series, Q192, sqrtPriceX96 * sqrtPriceX96)
}

/** From amounts of token0 and token1 of equal value. */
function ratio(series: PriceSeries, amount0: bigint, amount1: bigint): Price {
  const { token, quote, source } = series
  if (quote === null) throw new DecodeError('a pool price needs a quote')
  const isToken0 =
    (token.addresses.get(source.chain.name) ?? '') < (quote.addresses.get(source.chain.name) ?? '')
  const [own, other] = isToken0 ? [amount0, amount1] : [amount1, amount0]
  return (other * PRICE_ONE * 10n ** BigInt(token.decimals)) / (own * 10n ** BigInt(quote.decimals))
}

/** The answer is the first indexed argument, signed. */
function decodeAnswer(decimals: number, log: Log): Price {
  const answer = amountOf(readAnswer?.(log), 'current')
  if (answer <= 0n) throw new DecodeError(`the feed reported ${answer}; a price must be positive`)
  return (answer * PRICE_ONE) / 10n ** BigInt(decimals)
}

function amountOf(args: EventArguments | undefined, name: string): bigint {
  if (args === undefined) throw new DecodeError('the log does not match the ABI of the price event')
  return argument.amount(args, name)
}
