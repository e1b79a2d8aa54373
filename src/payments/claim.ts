import type { Address, Hash } from '#domain/address.ts'
import type { MicroUsd } from '#domain/money.ts'

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
  readonly claimedMicroUsd: MicroUsd
  readonly createdUnix: number
  /** Awaited for a day from here. */
  readonly openedUnix: number
  /** Perhaps before a reorg: the money returns there. */
  readonly wasCredited: boolean
}

/** Most likely replaced by then; posting again reopens it. */
export const CLAIM_TTL_SECONDS = 86_400

export const OPEN_CLAIMS_MAX = 20
