import type { Address, Hash } from './address.ts'

/** `Transfer(address,address,uint256)` (EIP-20). */
export const TRANSFER_TOPIC: Hash =
  '0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef'

export type TokenRole = 'primary' | 'secondary' | 'reward'

export interface Token {
  readonly symbol: string
  readonly name: string
  readonly role: TokenRole
  readonly decimals: number
  readonly addresses: ReadonlyMap<string, Address>
}

export function isTracked(token: Token): boolean {
  return token.role !== 'reward'
}
