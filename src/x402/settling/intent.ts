import type { Address, Hash } from '#domain/address.ts'
import type { Signature } from '#domain/signature.ts'
import type { Authorization } from '../offers/authorization.ts'

/**
 * `reserved`: nothing sent. `submitted`: signed and stored. `credited`: done. Ended without money:
 * `abandoned` before sending, `failed` after, `claimed` if a prepayment has the deposit. Abandoned
 * and failed ones are still credited if others send the authorization.
 */
export type IntentStatus =
  | 'reserved'
  | 'submitted'
  | 'credited'
  | 'abandoned'
  | 'failed'
  | 'claimed'

export type Payee =
  | { readonly kind: 'key'; readonly publicId: string; readonly wallet: Address }
  | { readonly kind: 'bucket'; readonly bucket: string }

/** One per authorization, forever. */
export interface Intent {
  readonly id: string
  readonly chainId: number
  readonly asset: Address
  readonly authorization: Authorization
  readonly signature: Signature
  readonly payee: Payee
  readonly status: IntentStatus
  readonly createdUnix: number
  /** Head when reserved; its transfer cannot be older. */
  readonly fromBlock: number
  readonly txHash: Hash | null
  /** The newest that we signed; its nonce must be used up in any case. */
  readonly raw: `0x${string}` | null
  readonly ownHash: Hash | null
  readonly settler: Address | null
  readonly txNonce: number | null
  readonly reservedGwei: bigint
  readonly gasDay: number
}

export const UNSIGNED = {
  txHash: null,
  raw: null,
  ownHash: null,
  settler: null,
  txNonce: null,
  reservedGwei: 0n,
  gasDay: 0,
} as const
