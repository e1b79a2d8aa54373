import type { Address, Hash } from '#domain/address.ts'
import type { MicroUsd } from '#domain/money.ts'

export type ClaimStatus =
  | 'pending'
  | 'confirming'
  | 'verified'
  | 'rejected'
  | 'unlinked'
  | 'expired'
  | 'reversed'

/** Who stands behind a post: nobody, a payer's signature, or a key of the owner; in rising order. */
export const TRUSTS = ['none', 'payer', 'owner'] as const

export type Trust = (typeof TRUSTS)[number]

/** Someone's word that a transaction pays for a key. It is a hint and buys nothing by itself. */
export interface Claim {
  readonly id: string
  readonly publicId: string
  readonly txHash: Hash
  /** The wallet that owns the key. */
  readonly owner: Address
  readonly payerAddress: Address
  /** Someone named the owner as the payer. */
  readonly byOwner: boolean
  /** The best word that was ever given for this claim. */
  readonly trust: Trust
  /** Who opened it last; it takes a place in the share of such posts. */
  readonly share: Trust
  /** It made room in its share; it is looked for all the same, as long as any other. */
  readonly evicted: boolean
  readonly claimedMicroUsd: MicroUsd
  readonly status: ClaimStatus
  readonly creditedMicroUsd: MicroUsd | null
  readonly confirmations: number
  readonly createdUnix: number
  /** When it was posted, reopened or reversed last: it is watched for a day from then on. */
  readonly openedUnix: number
  readonly verifiedUnix: number | null
  /** It held money once, perhaps before a reorg: the money returns to where it was. */
  readonly wasCredited: boolean
  /** Verified, but a payer was named since whose part may still be to credit. */
  readonly lookAgain: boolean
}

/** A claim may still become something by itself. */
export function isOpen(status: ClaimStatus): boolean {
  return status === 'pending' || status === 'confirming'
}

/** A transaction that is not seen within this time is most likely replaced; posting again reopens. */
export const CLAIM_TTL_SECONDS = 86_400

/** More claims than this whose transaction nobody has seen are no payments; by share of a key. */
export const OPEN_CLAIMS_MAX = 20
