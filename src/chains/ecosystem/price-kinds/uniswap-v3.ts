import { type AbiEvent, from } from 'ox/AbiEvent'
import { argument } from '../event-arguments.ts'
import { liquidityFields, poolFields, proveSides, readSorted, resolveFloor } from './pool.ts'
import { definePriceKind, resolveContract } from './price-kind.ts'

const Q96 = 2n ** 96n
const Q192 = 2n ** 192n

/** A pool of Uniswap v3 or a fork with its event, such as Slipstream: the price after every swap. */
export const uniswapV3 = defineDialect(
  'uniswap-v3',
  from(
    'event Swap(address indexed sender, address indexed recipient, int256 amount0, int256 amount1, uint160 sqrtPriceX96, uint128 liquidity, int24 tick)',
  ),
)

/** Its event adds the fees of the protocol. */
export const pancakeswapV3 = defineDialect(
  'pancakeswap-v3',
  from(
    'event Swap(address indexed sender, address indexed recipient, int256 amount0, int256 amount1, uint160 sqrtPriceX96, uint128 liquidity, int24 tick, uint128 protocolFeesToken0, uint128 protocolFeesToken1)',
  ),
)

function defineDialect<const Kind extends string>(kind: Kind, event: AbiEvent) {
  return definePriceKind({
    kind,
    events: [event],
    fields: poolFields,
    options: liquidityFields,
    resolve(context, { quote, minLiquidityUsd, ...price }) {
      const contract = resolveContract(context, price)
      if (contract === undefined) return null
      return {
        kind,
        ...contract,
        quote,
        floor: resolveFloor(context, minLiquidityUsd),
        events: [event],
        facts: {},
        /**
         * `sqrtPriceX96` is the square root of token1 per token0, scaled by 2^96. What is held are the
         * virtual reserves of the liquidity in range (Uniswap v3 whitepaper, 6.2).
         */
        read(args, pair) {
          const sqrtPriceX96 = argument.amount(args, 'sqrtPriceX96')
          const liquidity = argument.amount(args, 'liquidity')
          if (sqrtPriceX96 === 0n) return undefined
          return readSorted(pair, contract.chain, {
            ratio: [Q192, sqrtPriceX96 * sqrtPriceX96],
            held: [(liquidity * Q96) / sqrtPriceX96, (liquidity * sqrtPriceX96) / Q96],
          })
        },
        prove: (ask, pair) => proveSides(contract, ask, pair),
      }
    },
  })
}
