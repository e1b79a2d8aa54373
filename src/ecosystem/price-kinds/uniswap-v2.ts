import { from as eventFrom } from 'ox/AbiEvent'
import { from as functionFrom } from 'ox/AbiFunction'
import { argument } from '../event-arguments.ts'
import { poolFields, proveUniswapPool, sortedPriceOf } from './pool.ts'
import { definePriceKind, resolveContract } from './price-kind.ts'

const SYNC = eventFrom('event Sync(uint112 reserve0, uint112 reserve1)')
const getReserves = functionFrom('function getReserves() view returns (uint112, uint112, uint32)')

/** A pair of Uniswap v2 or a fork: the ratio of its reserves after every change. */
export const uniswapV2 = definePriceKind({
  kind: 'uniswap-v2',
  fields: poolFields,
  resolve(context, { quote, ...price }) {
    const contract = resolveContract(context, price)
    if (contract === undefined) return null
    const pool = { kind: 'uniswap-v2', ...contract }
    return {
      ...pool,
      quote,
      event: SYNC,
      facts: {},
      read(args, pair) {
        const reserve0 = argument.amount(args, 'reserve0')
        const reserve1 = argument.amount(args, 'reserve1')
        if (reserve0 === 0n || reserve1 === 0n) return undefined
        return sortedPriceOf(pair, pool.chain, [reserve0, reserve1])
      },
      prove: (ask, pair) => proveUniswapPool(pool, { ask, pair, state: getReserves }),
    }
  },
})
