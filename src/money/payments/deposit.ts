import type { Hash } from '#domain/address.ts'
import type { CanonicalDeposits, DepositQuery } from '#domain/deposit.ts'
import { StoreError } from '#store/engine.ts'

export interface DepositIndex {
  canonical(query: DepositQuery): Promise<CanonicalDeposits | undefined>
}

/**
 * Undefined while unknown. Only a different hash proves that a block left the chain; a missing log
 * does not.
 */
export type BlockHashAt = (blockNumber: number) => Promise<Hash | undefined>

/** Undefined while the index is unavailable: prepayments are registered and shown without it. */
export async function readKnown(
  deps: { readonly deposits: DepositIndex },
  txHashes: readonly Hash[],
): Promise<CanonicalDeposits | undefined> {
  try {
    return await deps.deposits.canonical({ txHashes })
  } catch (error) {
    if (error instanceof StoreError) return undefined
    throw error
  }
}
