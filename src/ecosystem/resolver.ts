import type { Address } from '#base/address.ts'
import type { Chain, PricedToken } from './priced-token.ts'
import type { Problems } from './problem.ts'

/** Look-ups that report a problem when they fail. */
export interface Resolver {
  readonly problems: Problems
  /** Some entries are invalid, so missing ones are not reported. */
  isLeftOut(part: string): boolean
  /** Its price was reported already. */
  hasInvalidPrice(token: Pick<PricedToken, 'symbol'>): boolean
  chain(field: string, name: string): Chain | undefined
  token(field: string, symbol: string): PricedToken | undefined
  address(field: string, text: string): Address
  tokenAt(chain: Chain, address: Address): PricedToken | undefined
  /** Symbols by address. */
  tokensOn(chain: Chain): ReadonlyMap<Address, string>
}
