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
  readonly claimedMicroUsd: MicroUsd
  readonly status: ClaimStatus
  readonly creditedMicroUsd: MicroUsd | null
  readonly confirmations: number
  readonly createdUnix: number
  /** When it was posted, reopened or reversed last: it is watched for a day from then on. */
  readonly openedUnix: number
  readonly verifiedUnix: number | null
}

/** A claim may still become something by itself. */
export function isOpen(status: ClaimStatus): boolean {
  return status === 'pending' || status === 'confirming'
}

/** A transaction that is not seen within this time is most likely replaced; posting again reopens. */
export const CLAIM_TTL_SECONDS = 86_400

/** More open claims than this are no payments; counted apart for the owner and for strangers. */
export const OPEN_CLAIMS_MAX = 20
