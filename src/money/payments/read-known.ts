import type { Hash } from '#domain/address.ts'
import type { CanonicalDeposits } from '#domain/deposit.ts'
import { StoreError } from '#store/engine.ts'
import type { DepositIndex } from './deposit.ts'

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
