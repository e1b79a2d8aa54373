import { from } from 'ox/AbiEvent'
import { encode } from 'ox/AbiParameters'
import { keccak256 } from 'ox/Hash'
import { Type } from 'typebox'
import { type Hash, ZERO_ADDRESS } from '#base/address.ts'
import { addressText } from '../fields.ts'
import type { PricePair } from '../priced-token.ts'
import {
  addressesSorted,
  liquidityFields,
  poolFields,
  readSqrtPrice,
  resolveFloor,
} from './pool.ts'
import { definePriceKind, resolveContract } from './price-kind.ts'

const SWAP = from(
  'event Swap(bytes32 indexed id, address indexed sender, int128 amount0, int128 amount1, uint160 sqrtPriceX96, uint128 liquidity, int24 tick, uint24 fee)',
)

/** A pool of Uniswap v4, by its key, whose hash is its id: the price after every swap. */
export const uniswapV4 = definePriceKind({
  kind: 'uniswap-v4',
  events: [SWAP],
  fields: {
    ...poolFields,
    fee: Type.Integer({ minimum: 0, maximum: 8_388_608, description: "the fee of the pool's key" }),
    tickSpacing: Type.Integer({
      minimum: 1,
      maximum: 32_767,
      description: "that of the pool's key",
    }),
  },
  options: { ...liquidityFields, hooks: addressText },
  meanings: {
    fee: "The fee of the pool's key, in millionths; 8388608 if it is dynamic.",
    tickSpacing: "The tick spacing of the pool's key.",
    hooks: "The hooks of the pool's key. Without it, the pool has none.",
  },
  resolve(context, { quote, minLiquidityUsd, fee, tickSpacing, hooks, ...price }) {
    const contract = resolveContract(context, price)
    if (contract === undefined) return null
    const hooksAt =
      hooks === undefined ? ZERO_ADDRESS : context.resolver.address(`${context.field}.hooks`, hooks)
    let known: Hash | undefined
    const idIn = (pair: PricePair) => {
      known ??= keccak256(
        encode(KEY, [...addressesSorted(pair, contract.chain), fee, tickSpacing, hooksAt]),
      )
      return known
    }
    return {
      kind: 'uniswap-v4',
      ...contract,
      quote,
      floor: resolveFloor(context, minLiquidityUsd),
      events: [SWAP],
      topics: (pair) => [[idIn(pair)]],
      read: (args, pair) =>
        args.id === idIn(pair) ? readSqrtPrice(args, pair, contract.chain) : undefined,
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
