import { from as eventFrom } from 'ox/AbiEvent'
import { from as functionFrom } from 'ox/AbiFunction'
import { showAddress } from '#base/address.ts'
import { argument } from '../event-arguments.ts'
import type { PricedToken } from '../priced-token.ts'
import { proveSides, readSorted, type SortedAmounts, sortPair } from './pool.ts'
import { defineContractPrice } from './price-kind.ts'

const SYNC = eventFrom('event Sync(uint256 reserve0, uint256 reserve1)')
const stableView = functionFrom('function stable() view returns (bool)')

/** A pair of Solidly or a fork, such as Velodrome and Aerodrome: its price after every change. */
export const solidly = defineContractPrice({
  kind: 'solidly',
  events: [SYNC],
  fields: ['quote', 'stable'],
  options: ['minLiquidityUsd', 'wrapped'],
  meanings: {
    stable:
      'Whether the pair trades along `x³y + xy³`, or like Uniswap v2. Compared with the pair.',
  },
  resolve(_, { stable }, contract) {
    const { chain, address } = contract
    return {
      read(args, pair) {
        const held = [argument.amount(args, 'reserve0'), argument.amount(args, 'reserve1')] as const
        const state = stable ? stableState(held, sortPair(pair, chain)) : { ratio: held, held }
        return readSorted(pair, chain, state)
      },
      async prove(ask, pair) {
        const found = await ask(stableView)
        if (typeof found === 'boolean' && found !== stable)
          return {
            field: 'stable',
            message: `the pair at ${showAddress(address)} on ${chain.name} has ${found} as stable(); write ${found}`,
          }
        return proveSides(contract, ask, pair)
      },
    }
  },
})

/** `ratio` is the slope of `x³y + xy³`; `held` is half the value, in each token. */
function stableState(
  [reserve0, reserve1]: SortedAmounts,
  tokens: readonly [PricedToken, PricedToken],
): { readonly ratio: SortedAmounts; readonly held: SortedAmounts } {
  if (reserve0 === 0n || reserve1 === 0n) return { ratio: [0n, 0n], held: [0n, 0n] }
  const [one0, one1] = tokens.map(({ decimals }) => 10n ** BigInt(decimals)) as [bigint, bigint]
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
