import { addresses } from '#devnet/addresses.ts'
import type { WorldPlan } from '../world-plan.ts'
import { type CanonicalBlock, type CanonicalChain, wordOf } from './canonical-chain.ts'

/** Dollars of one whole token, times 10^54; null before the first price. */
type Price = bigint | null

const ONE = 10n ** 54n
const U256_MAX = 2n ** 256n - 1n

/** keccak256 of `AnswerUpdated(int256,uint256,uint256)` and of `Sync(uint112,uint112)`. */
const ANSWER = '0x0559884fd3a460db3073b7fc896cc77986f16e378210ded43186175bf646fc5f'
const SYNC = '0x1c411e9a96e071241c2f21f7726b17ae89e3cab4c78be50e062b03a9fffbbad1'

interface Prices {
  readonly ether: Price
  readonly graveInEther: Price
  readonly cryptInEther: Price
}

/** Values of amounts at the price at the close of the block before. */
export interface PriceRecord {
  /** In micro-dollars; null without a price and where a uint256 cannot hold the value. */
  valueOf(
    symbol: string,
    amount: bigint,
    at: { readonly chainId: number; readonly block: CanonicalBlock },
  ): bigint | null
}

/** All prices are on base: two pools against ether and a feed of ether. */
export function recordPrices(base: CanonicalChain, plan: WorldPlan): PriceRecord {
  const closes: Prices[] = []
  let now: Prices = { ether: null, graveInEther: null, cryptInEther: null }
  for (const block of base.blocks) {
    for (const log of block.logs) now = after(now, log, plan)
    closes.push(now)
  }
  const decimals: Record<string, number> = { ...plan.decimals, WETH: 18, USDC: 6 }
  return {
    valueOf(symbol, amount, { chainId, block }) {
      const before =
        chainId === base.id
          ? block.number - 1
          : base.blocks.findLastIndex(({ timestamp }) => timestamp < block.timestamp)
      const price = priceOf(symbol, closes[before], plan)
      if (price === null) return null
      const value = halfUp(amount * price, 10n ** BigInt(decimals[symbol] ?? 0) * 10n ** 48n)
      return value > U256_MAX ? null : value
    },
  }
}

function after(now: Prices, log: CanonicalBlock['logs'][number], { decimals }: WorldPlan): Prices {
  const { ethUsdFeed, market } = addresses.base
  const [event, answer = '0x0'] = log.topics
  const isAt = (address: string) => log.address.toLowerCase() === address.toLowerCase()
  if (isAt(ethUsdFeed) && event === ANSWER)
    return { ...now, ether: (BigInt(answer) * ONE) / 10n ** 8n }
  if (event !== SYNC) return now
  // Wrapped ether sorts before both tokens.
  const ether = wordOf(log, 0) * ONE
  const token = wordOf(log, 1)
  const inEther = (symbol: 'GRAVE' | 'CRYPT') =>
    (ether * 10n ** BigInt(decimals[symbol])) / (token * 10n ** 18n)
  if (isAt(market.gravePair)) return { ...now, graveInEther: inEther('GRAVE') }
  if (isAt(market.cryptPair)) return { ...now, cryptInEther: inEther('CRYPT') }
  return now
}

function priceOf(symbol: string, prices: Prices | undefined, { cryptPrice }: WorldPlan): Price {
  if (symbol === 'USDC') return ONE
  if (symbol === 'CRYPT' && cryptPrice === 'fixed') return 1_000n * ONE
  if (prices === undefined || prices.ether === null) return null
  if (symbol === 'WETH') return prices.ether
  const inEther = symbol === 'GRAVE' ? prices.graveInEther : prices.cryptInEther
  return inEther === null ? null : halfUp(inEther * prices.ether, ONE)
}

function halfUp(numerator: bigint, denominator: bigint): bigint {
  return (2n * numerator + denominator) / (2n * denominator)
}
