import { from as eventFrom } from 'ox/AbiEvent'
import { from as functionFrom } from 'ox/AbiFunction'
import { Type } from 'typebox'
import { showAddress } from '#base/address.ts'
import { argument } from '../event-arguments.ts'
import {
  decimalsSorted,
  liquidityFields,
  poolFields,
  proveSides,
  readSorted,
  resolveFloor,
  type SortedAmounts,
  wrappedFields,
  wrappedIn,
} from './pool.ts'
import { definePriceKind, resolveContract } from './price-kind.ts'

const SYNC = eventFrom('event Sync(uint256 reserve0, uint256 reserve1)')
const stableView = functionFrom('function stable() view returns (bool)')

/** A pair of Solidly or a fork, such as Velodrome and Aerodrome: its price after every change. */
export const solidly = definePriceKind({
  kind: 'solidly',
  events: [SYNC],
  fields: {
    ...poolFields,
    stable: Type.Boolean({ description: 'what stable() of the pair says' }),
  },
  options: { ...liquidityFields, ...wrappedFields },
  meanings: {
    stable:
      'Whether the pair trades along `x³y + xy³`, or like Uniswap v2. Compared with the pair.',
  },
  resolve(context, { quote, stable, minLiquidityUsd, wrapped, ...price }) {
    const contract = resolveContract(context, price)
    if (contract === undefined) return null
    const { chain, address } = contract
    const wrap = wrappedIn(context, chain, wrapped)
    return {
      kind: 'solidly',
      ...contract,
      quote,
      floor: resolveFloor(context, minLiquidityUsd),
      events: [SYNC],
      read(args, given) {
        const pair = wrap(given)
        const held = [argument.amount(args, 'reserve0'), argument.amount(args, 'reserve1')] as const
        const state = stable
          ? stableState(held, decimalsSorted(pair, chain))
          : { ratio: held, held }
        return readSorted(pair, chain, state)
      },
      async prove(ask, pair) {
        const found = await ask(stableView)
        if (typeof found === 'boolean' && found !== stable)
          return {
            field: 'stable',
            message: `the pair at ${showAddress(address)} on ${chain.name} has ${found} as stable(); write ${found}`,
          }
        return proveSides(contract, ask, wrap(pair))
      },
    }
  },
})

/** `ratio` is the slope of `x³y + xy³`; `held` is half the value, in each token. */
function stableState(
  [reserve0, reserve1]: SortedAmounts,
  [decimals0, decimals1]: readonly [number, number],
): { readonly ratio: SortedAmounts; readonly held: SortedAmounts } {
  if (reserve0 === 0n || reserve1 === 0n) return { ratio: [0n, 0n], held: [0n, 0n] }
  const [one0, one1] = [10n ** BigInt(decimals0), 10n ** BigInt(decimals1)]
  const [x, y] = [reserve0 * one1, reserve1 * one0]
  const [amount0, amount1] = [
    one0 * (x ** 3n + 3n * x * y ** 2n),
    one1 * (y ** 3n + 3n * y * x ** 2n),
  ]
  return {
    ratio: [amount0, amount1],
    held: [
      (reserve0 + (reserve1 * amount0) / amount1) / 2n,
      (reserve1 + (reserve0 * amount1) / amount0) / 2n,
    ],
  }
}
