import { RpcError } from '#chain/rpc-error.ts'
import { sleep } from '#lib/sleep.ts'
import { StoreError } from '#store/engine.ts'
import { DepositProver, type ProveDepositsDeps } from './prove-deposits.ts'
import { BalanceWatch } from './watch-balance.ts'

export interface KeepProvingDepositsDeps extends ProveDepositsDeps {
  /** Whether this process is the one that indexes. */
  isIndexing(): boolean
}

/** How often it is looked whether a deposit waits: whoever paid is waiting, too. */
const LOOK_MS = 500

/** Proves the deposits of the payment chain, new and old, and finds those left out, until the signal aborts. */
export async function keepProvingDeposits(
  deps: KeepProvingDepositsDeps,
  signal: AbortSignal,
): Promise<void> {
  const prover = new DepositProver(deps)
  const watch = new BalanceWatch(deps, prover)
  // Apart from each other: what was ever sent away may take minutes to read.
  await Promise.all([
    repeat(deps, signal, () => prover.proveStored(signal)),
    repeat(deps, signal, () => watch.look(signal)),
  ])
}

async function repeat(
  deps: KeepProvingDepositsDeps,
  signal: AbortSignal,
  work: () => Promise<void>,
): Promise<void> {
  while (!signal.aborted) {
    try {
      if (deps.isIndexing()) await work()
    } catch (error) {
      // What is cut short by the end of this process is no failure.
      if (signal.aborted) return
      // A store or a node that is away: another look comes soon enough.
      if (!(error instanceof StoreError || error instanceof RpcError)) throw error
    }
    await sleep(LOOK_MS, signal)
  }
}
