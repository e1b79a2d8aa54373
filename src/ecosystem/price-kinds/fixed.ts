import { PRICE_DECIMALS, parseDecimal } from '#base/money.ts'
import { decimalText } from '../fields.ts'
import { definePriceKind } from './price-kind.ts'

/** Prices a token pegged to the US dollar. */
export const fixed = definePriceKind({
  kind: 'fixed',
  events: [],
  fields: { usd: decimalText },
  meanings: { usd: 'Dollars for one token, at all times.' },
  resolve({ resolver, field }, { usd }) {
    if (parseDecimal(usd, PRICE_DECIMALS) === undefined)
      resolver.problems.add(`${field}.usd`, `has more than ${PRICE_DECIMALS} decimals`)
    return { kind: 'fixed', chain: null, usd }
  },
})
