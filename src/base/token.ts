import { type Address, type Hash, ZERO_ADDRESS } from './address.ts'

/** `Transfer(address,address,uint256)` (EIP-20). */
export const TRANSFER_TOPIC: Hash =
  '0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef'

type TokenRole = 'primary' | 'secondary' | 'reward'

export interface Token {
  readonly symbol: string
  readonly name: string
  readonly role: TokenRole
  readonly decimals: number
  readonly addresses: ReadonlyMap<string, Address>
}

/** Stands for a chain's native coin, as in Uniswap v4 and most payouts. */
export const COIN_ADDRESS = ZERO_ADDRESS

/** Some contracts use this address for the coin (ERC-7528). */
const COIN_ALIAS: Address = '0xeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeee'

/** Maps every address of the native coin to `COIN_ADDRESS`. */
export function tokenAddress(named: Address): Address {
  return named === COIN_ALIAS ? COIN_ADDRESS : named
}

export function isTracked(token: Token): boolean {
  return token.role !== 'reward'
}
