import type { Address, Hash } from '#domain/address.ts'
import type { Signature } from '#domain/signature.ts'
import type { Authorization } from '../offers/authorization.ts'

/**
 * `reserved`: nothing was sent. `submitted`: a signed transaction is stored and may be anywhere.
 * `credited`: the money is on its account. The others are ends without money from here:
 * `abandoned` before anything was sent, `failed` after it, `claimed` when a prepayment has the deposit.
 * An abandoned or failed one is credited all the same if somebody else sends its authorization.
 */
export type IntentStatus =
  | 'reserved'
  | 'submitted'
  | 'credited'
  | 'abandoned'
  | 'failed'
  | 'claimed'

/** Whose balance a payment raises. */
export type Payee =
  | { readonly kind: 'key'; readonly publicId: string; readonly wallet: Address }
  | { readonly kind: 'bucket'; readonly bucket: string }

/** What we set out to do with one authorization; there is one for each, for ever. */
export interface Intent {
  readonly id: string
  readonly chainId: number
  readonly asset: Address
  readonly authorization: Authorization
  readonly signature: Signature
  readonly payee: Payee
  readonly status: IntentStatus
  readonly createdUnix: number
  /** The head of the payment chain when it was reserved; nothing of it can be older. */
  readonly fromBlock: number
  /** The transaction that is to settle it, or has. */
  readonly txHash: Hash | null
  /** The newest transaction that we have signed for it; its nonce must be used up, however it ends. */
  readonly raw: `0x${string}` | null
  readonly ownHash: Hash | null
  readonly settler: Address | null
  readonly txNonce: number | null
  /** Set aside of the day's gas, in gwei. */
  readonly reservedGwei: bigint
  readonly gasDay: number
}

/** What an intent says of its transaction before one is signed. */
export const UNSIGNED = {
  txHash: null,
  raw: null,
  ownHash: null,
  settler: null,
  txNonce: null,
  reservedGwei: 0n,
  gasDay: 0,
} as const
