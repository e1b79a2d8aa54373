import type { Hash } from '#domain/address.ts'
import type { CanonicalDeposits, DepositQuery } from '#domain/deposit.ts'

export interface DepositIndex {
  canonical(query: DepositQuery): Promise<CanonicalDeposits | undefined>
}

/**
 * Undefined while unknown. Only a different hash proves that a block left the chain; a missing log
 * does not.
 */
export type BlockHashAt = (blockNumber: number) => Promise<Hash | undefined>
