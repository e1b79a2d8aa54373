import { from } from 'ox/AbiEvent'
import { encode } from 'ox/AbiParameters'
import { keccak256 } from 'ox/Hash'
import { type Hash, ZERO_ADDRESS } from '#base/address.ts'
import { argument } from '../event-arguments.ts'
import type { PricePair } from '../priced-token.ts'
import { addressOn, definePool, readSorted, readSqrtPrice, sortPair } from './pool.ts'
import { defineContractPrice } from './price-kind.ts'

/** A pair of Uniswap v2 or a fork: the ratio of its reserves after every change. */
export const uniswapV2 = definePool(
  'uniswap-v2',
  from('event Sync(uint112 reserve0, uint112 reserve1)'),
  (args, pair, chain) => {
    const held = [argument.amount(args, 'reserve0'), argument.amount(args, 'reserve1')] as const
    return readSorted(pair, chain, { ratio: held, held })
  },
)

/** A pool of Uniswap v3 or a fork with its event, such as Slipstream: the price after every swap. */
export const uniswapV3 = definePool(
  'uniswap-v3',
  from(
    'event Swap(address indexed sender, address indexed recipient, int256 amount0, int256 amount1, uint160 sqrtPriceX96, uint128 liquidity, int24 tick)',
  ),
  readSqrtPrice,
)

/** Its event adds the fees of the protocol. */
export const pancakeswapV3 = definePool(
  'pancakeswap-v3',
  from(
    'event Swap(address indexed sender, address indexed recipient, int256 amount0, int256 amount1, uint160 sqrtPriceX96, uint128 liquidity, int24 tick, uint128 protocolFeesToken0, uint128 protocolFeesToken1)',
  ),
  readSqrtPrice,
)

const SWAP = from(
  'event Swap(bytes32 indexed id, address indexed sender, int128 amount0, int128 amount1, uint160 sqrtPriceX96, uint128 liquidity, int24 tick, uint24 fee)',
)

/** A pool of Uniswap v4, by its key, whose hash is its id: the price after every swap. */
export const uniswapV4 = defineContractPrice({
  kind: 'uniswap-v4',
  events: [SWAP],
  fields: ['quote', 'fee', 'tickSpacing'],
  options: ['minLiquidityUsd', 'hooks'],
  meanings: {
    fee: "The fee of the pool's key, in millionths; 8388608 if it is dynamic.",
    tickSpacing: "The tick spacing of the pool's key.",
    hooks: "The hooks of the pool's key. Without it, the pool has none.",
  },
  resolve(resolver, { fee, tickSpacing, hooks }, { chain }) {
    const hooksAt = hooks === undefined ? ZERO_ADDRESS : resolver.address('hooks', hooks)
    let known: Hash | undefined
    const idIn = (pair: PricePair) => {
      const [one, other] = sortPair(pair, chain)
      const tokens = [addressOn(chain, one), addressOn(chain, other)] as const
      known ??= keccak256(encode(KEY, [...tokens, fee, tickSpacing, hooksAt]))
      return known
    }
    return {
      topics: (pair) => [[idIn(pair)]],
      read: (args, pair) => (args.id === idIn(pair) ? readSqrtPrice(args, pair, chain) : undefined),
      // The id is made of both tokens.
      prove: async () => undefined,
    }
  },
})

const KEY = [
  { type: 'address' },
  { type: 'address' },
  { type: 'uint24' },
  { type: 'int24' },
  { type: 'address' },
] as const
