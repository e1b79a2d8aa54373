import type { Address } from './address.ts'

export type TokenRole = 'primary' | 'secondary' | 'reward'

/** A token of the ecosystem; addresses by chain name. */
export interface Token {
  readonly symbol: string
  readonly name: string
  readonly role: TokenRole
  readonly decimals: number
  readonly addresses: ReadonlyMap<string, Address>
}

/** Tokens whose every transfer is followed, so that supply and holders are known. */
export function isTracked(token: Token): boolean {
  return token.role !== 'reward'
}
