import { type Static, Type } from 'typebox'
import { entryOf } from './fields.ts'
import { chainlink } from './price-kinds/chainlink.ts'
import { curve, curveCrypto, curveCryptoNg } from './price-kinds/curve.ts'
import { erc4626 } from './price-kinds/erc4626.ts'
import { fixed } from './price-kinds/fixed.ts'
import { priceFields } from './price-kinds/price-kind.ts'
import { solidly } from './price-kinds/solidly.ts'
import { pancakeswapV3, uniswapV2, uniswapV3, uniswapV4 } from './price-kinds/uniswap.ts'

/** A new kind is one line here. */
export const priceKinds = [
  uniswapV2,
  uniswapV3,
  uniswapV4,
  pancakeswapV3,
  solidly,
  curve,
  curveCrypto,
  curveCryptoNg,
  erc4626,
  chainlink,
  fixed,
] as const

const since = Type.Union([Type.Integer({ minimum: 0 }), Type.String({ format: 'date' })], {
  description: 'a block of its chain, or a day such as "2025-03-31"',
})

/** Which fields a kind needs is checked later, so that each mistake has its own message. */
export const priceSchema = entryOf({
  kind: Type.Enum(priceKinds.map(({ kind }) => kind)),
  since: Type.Optional(since),
  ...Type.Partial(Type.Object(priceFields)).properties,
})

export type PriceFile = Static<typeof priceSchema>
