import { from } from 'ox/AbiEvent'
import { argument } from '../event-arguments.ts'
import { liquidityFields, poolFields, proveUniswapPool, readSorted, resolveFloor } from './pool.ts'
import { definePriceKind, resolveContract } from './price-kind.ts'

const SWAP = from(
  'event Swap(address indexed sender, address indexed recipient, int256 amount0, int256 amount1, uint160 sqrtPriceX96, uint128 liquidity, int24 tick)',
)

const Q96 = 2n ** 96n
const Q192 = 2n ** 192n

/** A pool of Uniswap v3 or a fork: the price after every swap. */
export const uniswapV3 = definePriceKind({
  kind: 'uniswap-v3',
  fields: poolFields,
  options: liquidityFields,
  resolve(context, { quote, minLiquidityUsd, ...price }) {
    const contract = resolveContract(context, price)
    if (contract === undefined) return null
    const pool = { kind: 'uniswap-v3', ...contract } as const
    return {
      ...pool,
      quote,
      floor: resolveFloor(context, minLiquidityUsd),
      event: SWAP,
      facts: {},
      /**
       * `sqrtPriceX96` is the square root of token1 per token0, scaled by 2^96. What is held are the
       * virtual reserves of the liquidity in range (Uniswap v3 whitepaper, 6.2).
       */
      read(args, pair) {
        const sqrtPriceX96 = argument.amount(args, 'sqrtPriceX96')
        const liquidity = argument.amount(args, 'liquidity')
        if (sqrtPriceX96 === 0n) return undefined
        return readSorted(pair, pool.chain, {
          ratio: [Q192, sqrtPriceX96 * sqrtPriceX96],
          held: [(liquidity * Q96) / sqrtPriceX96, (liquidity * sqrtPriceX96) / Q96],
        })
      },
      prove: (ask, pair) => proveUniswapPool(pool, ask, pair),
    }
  },
})
