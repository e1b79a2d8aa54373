import { PRICE_DECIMALS, parseDecimal } from '#base/money.ts'
import type { PriceContext } from '../resolver.ts'
import type { PriceValues } from './price-kind.ts'

/** Prices a token pegged to the US dollar. */
export const fixed = {
  kind: 'fixed',
  fields: ['usd'],
  options: [],
  meanings: { usd: 'Dollars for one token, at all times.' },
  resolve({ resolver, field }: PriceContext, { usd = '' }: Partial<PriceValues>) {
    if (parseDecimal(usd, PRICE_DECIMALS) === undefined)
      resolver.problems.add(`${field}.usd`, `has more than ${PRICE_DECIMALS} decimals`)
    return { kind: 'fixed', chain: null, usd } as const
  },
} as const
