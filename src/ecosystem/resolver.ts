import type { Address } from '#domain/address.ts'
import type { Chain, PricedToken } from './ecosystem.ts'
import type { Problems } from './problem.ts'

/** What the resolvers of single parts need: look-ups that note a problem when they fail. */
export interface Resolver {
  readonly problems: Problems
  /** Whether some of a part has a wrong shape and is not looked at: what lacks there is no mistake. */
  isLeftOut(part: string): boolean
  chain(field: string, name: string): Chain | undefined
  token(field: string, symbol: string): PricedToken | undefined
  address(field: string, text: string): Address
  /** The listed token whose contract stands there. */
  tokenAt(chain: Chain, address: Address): PricedToken | undefined
}
