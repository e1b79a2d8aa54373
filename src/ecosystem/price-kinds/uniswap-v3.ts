import { from as eventFrom } from 'ox/AbiEvent'
import { from as functionFrom } from 'ox/AbiFunction'
import { argument } from '../event-arguments.ts'
import { poolFields, proveUniswapPool, sortedPriceOf } from './pool.ts'
import { definePriceKind, resolveContract } from './price-kind.ts'

const SWAP = eventFrom(
  'event Swap(address indexed sender, address indexed recipient, int256 amount0, int256 amount1, uint160 sqrtPriceX96, uint128 liquidity, int24 tick)',
)
const slot0 = functionFrom(
  'function slot0() view returns (uint160, int24, uint16, uint16, uint16, uint8, bool)',
)

const Q192 = 2n ** 192n

/** A pool of Uniswap v3 or a fork: the price after every swap. */
export const uniswapV3 = definePriceKind({
  kind: 'uniswap-v3',
  fields: poolFields,
  resolve(context, { quote, ...price }) {
    const contract = resolveContract(context, price)
    if (contract === undefined) return null
    const pool = { kind: 'uniswap-v3', ...contract }
    return {
      ...pool,
      quote,
      event: SWAP,
      facts: {},
      /** The square root of token1 per token0, scaled by 2^96. */
      read(args, pair) {
        const sqrtPriceX96 = argument.amount(args, 'sqrtPriceX96')
        if (sqrtPriceX96 === 0n) return undefined
        return sortedPriceOf(pair, pool.chain, [Q192, sqrtPriceX96 * sqrtPriceX96])
      },
      prove: (ask, pair) => proveUniswapPool(pool, { ask, pair, state: slot0 }),
    }
  },
})
