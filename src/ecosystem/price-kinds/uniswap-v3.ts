import { type AbiEvent, from } from 'ox/AbiEvent'
import {
  liquidityFields,
  poolFields,
  proveSides,
  readSqrtPrice,
  resolveFloor,
  wrappedFields,
  wrappedIn,
} from './pool.ts'
import { definePriceKind, resolveContract } from './price-kind.ts'

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
    options: { ...liquidityFields, ...wrappedFields },
    resolve(context, { quote, minLiquidityUsd, wrapped, ...price }) {
      const contract = resolveContract(context, price)
      if (contract === undefined) return null
      const wrap = wrappedIn(context, contract.chain, wrapped)
      return {
        kind,
        ...contract,
        quote,
        floor: resolveFloor(context, minLiquidityUsd),
        events: [event],
        read: (args, pair) => readSqrtPrice(args, wrap(pair), contract.chain),
        prove: (ask, pair) => proveSides(contract, ask, wrap(pair)),
      }
    },
  })
}
