import { from } from 'ox/AbiEvent'
import { argument } from '../event-arguments.ts'
import { definePool, readSorted, readSqrtPrice } from './pool.ts'

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
