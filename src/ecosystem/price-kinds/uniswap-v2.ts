import { from } from 'ox/AbiEvent'
import { argument } from '../event-arguments.ts'
import {
  liquidityFields,
  poolFields,
  proveSides,
  readSorted,
  resolveFloor,
  wrappedFields,
  wrappedIn,
} from './pool.ts'
import { definePriceKind, resolveContract } from './price-kind.ts'

const SYNC = from('event Sync(uint112 reserve0, uint112 reserve1)')

/** A pair of Uniswap v2 or a fork: the ratio of its reserves after every change. */
export const uniswapV2 = definePriceKind({
  kind: 'uniswap-v2',
  events: [SYNC],
  fields: poolFields,
  options: { ...liquidityFields, ...wrappedFields },
  resolve(context, { quote, minLiquidityUsd, wrapped, ...price }) {
    const contract = resolveContract(context, price)
    if (contract === undefined) return null
    const wrap = wrappedIn(context, contract.chain, wrapped)
    return {
      kind: 'uniswap-v2',
      ...contract,
      quote,
      floor: resolveFloor(context, minLiquidityUsd),
      events: [SYNC],
      read(args, pair) {
        const reserve0 = argument.amount(args, 'reserve0')
        const reserve1 = argument.amount(args, 'reserve1')
        const held = [reserve0, reserve1] as const
        return readSorted(wrap(pair), contract.chain, { ratio: held, held })
      },
      prove: (ask, pair) => proveSides(contract, ask, wrap(pair)),
    }
  },
})
