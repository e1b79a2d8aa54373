import type { Address } from '#domain/address.ts'
import type { Chain, PricedToken } from './ecosystem.ts'
import type { Problems } from './problem.ts'

/** What the resolvers of single parts need: look-ups that note a problem when they fail. */
export interface Resolver {
  readonly problems: Problems
  /** Whether part of it is invalid, so that missing entries must not be reported. */
  isLeftOut(part: string): boolean
  chain(field: string, name: string): Chain | undefined
  token(field: string, symbol: string): PricedToken | undefined
  address(field: string, text: string): Address
  /** The listed token at this contract address. */
  tokenAt(chain: Chain, address: Address): PricedToken | undefined
}
