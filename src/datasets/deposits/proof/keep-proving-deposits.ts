import { sleep } from '#lib/sleep.ts'
import { StoreError } from '#store/engine.ts'
import { DepositProver, type ProveDepositsDeps } from './prove-deposits.ts'

export interface KeepProvingDepositsDeps extends ProveDepositsDeps {
  /** Whether this process is the one that indexes. */
  isIndexing(): boolean
}

/** How often it is looked whether a deposit waits: whoever paid is waiting, too. */
const LOOK_MS = 500

/** Proves the deposits of the payment chain, new and old, until the signal aborts. */
export async function keepProvingDeposits(
  deps: KeepProvingDepositsDeps,
  signal: AbortSignal,
): Promise<void> {
  const prover = new DepositProver(deps)
  while (!signal.aborted) {
    if (deps.isIndexing())
      await prover.proveStored(signal).catch((error: unknown) => {
        // A store that is away has nothing to be proven; the next look comes soon enough.
        if (!(error instanceof StoreError)) throw error
      })
    await sleep(LOOK_MS, signal)
  }
}
