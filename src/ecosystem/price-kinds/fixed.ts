import { PRICE_DECIMALS, parseDecimal } from '#base/money.ts'
import type { Resolver } from '../resolver.ts'
import type { PriceValues } from './price-kind.ts'

/** Prices a token pegged to the US dollar. */
export const fixed = {
  kind: 'fixed',
  fields: ['usd'],
  options: [],
  meanings: { usd: 'Dollars for one token, at all times.' },
  resolve(resolver: Resolver, { usd = '' }: Partial<PriceValues>) {
    if (parseDecimal(usd, PRICE_DECIMALS) === undefined)
      resolver.report('usd', `has more than ${PRICE_DECIMALS} decimals`)
    return { kind: 'fixed', chain: null, quote: null, usd } as const
  },
} as const
