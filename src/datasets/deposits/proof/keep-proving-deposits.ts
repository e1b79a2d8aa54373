import { RpcError } from '#chain/rpc-error.ts'
import { sleep } from '#lib/sleep.ts'
import { StoreError } from '#store/engine.ts'
import { DepositProver, type ProveDepositsDeps } from './prove-deposits.ts'
import { BalanceWatch } from './watch-balance.ts'

export interface KeepProvingDepositsDeps extends ProveDepositsDeps {
  isIndexing(): boolean
}

/** Short, because payers are waiting. */
const LOOK_MS = 500

export async function keepProvingDeposits(
  deps: KeepProvingDepositsDeps,
  signal: AbortSignal,
): Promise<void> {
  const prover = new DepositProver(deps)
  const watch = new BalanceWatch(deps, prover)
  // Separate loops, because reading all outgoing transfers may take minutes.
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
      // Errors after an abort come from shutting down.
      if (signal.aborted) return
      if (!(error instanceof StoreError || error instanceof RpcError)) throw error
    }
    await sleep(LOOK_MS, signal)
  }
}
