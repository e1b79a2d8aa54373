import { removeChain } from '#chains/indexer/forget.ts'
import { readFinalized } from '#chains/indexer/positions.ts'
import { type CommitDeps, transact } from '#chains/indexer/transaction.ts'

/** Removes all that the register has of a chain, as a file with another `startBlock` does. */
export async function forgetChain(deps: CommitDeps, chainId: number): Promise<void> {
  await transact(
    deps,
    async (connection) => ({
      chainId,
      finalizedNumber: await readFinalized(connection, chainId),
      isOlder: false,
      feeding: 'anew',
    }),
    (change) => removeChain(change, deps.datasets),
  )
}
