import type { Hash } from '#domain/address.ts'
import { StoreError } from '#store/engine.ts'
import type { Deposit, DepositIndex } from './deposit.ts'

/** Empty while the index is unavailable: prepayments work without it. */
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
