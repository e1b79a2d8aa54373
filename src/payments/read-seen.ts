import type { Hash } from '#domain/address.ts'
import { StoreError } from '#store/engine.ts'
import type { Deposit, DepositIndex } from './deposit.ts'

/**
 * The deposits of some transactions as far as the index shows them; none while it cannot be read,
 * since prepayments are registered and shown without it too.
 */
export async function readSeen(
  deps: { readonly deposits: DepositIndex },
  txHashes: readonly Hash[],
): Promise<readonly Deposit[]> {
  try {
    return (await deps.deposits.canonical({ txHashes }))?.deposits ?? []
  } catch (error) {
    if (error instanceof StoreError) return []
    throw error
  }
}
