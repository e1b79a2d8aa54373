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

/** Who stands behind a claim, ascending. */
export const TRUSTS = ['none', 'payer', 'owner'] as const

export type Trust = (typeof TRUSTS)[number]

/** A hint that a transaction pays for a key; proves nothing by itself. */
export interface Claim {
  readonly id: string
  readonly publicId: string
  readonly txHash: Hash
  readonly owner: Address
  readonly payerAddress: Address
  readonly byOwner: boolean
  readonly trust: Trust
  /** Trust of its latest opener; open claims are limited per share. */
  readonly share: Trust
  readonly evicted: boolean
  readonly claimedMicroUsd: MicroUsd
  readonly status: ClaimStatus
  readonly creditedMicroUsd: MicroUsd | null
  readonly confirmations: number
  readonly createdUnix: number
  /** Watched for a day from here: posted, reopened or reversed. */
  readonly openedUnix: number
  readonly verifiedUnix: number | null
  /** Credited once, perhaps before a reorg: the money returns there. */
  readonly wasCredited: boolean
  readonly lookAgain: boolean
}

export function isOpen(status: ClaimStatus): boolean {
  return status === 'pending' || status === 'confirming'
}

/** Most likely replaced by then; posting again reopens it. */
export const CLAIM_TTL_SECONDS = 86_400

export const OPEN_CLAIMS_MAX = 20
