import type { Clock } from '#lib/time.ts'
import { LeadLostError } from '#operations/jobs/leader.ts'
import type { Engine } from '#store/engine.ts'
import type { BlockHashAt, DepositIndex } from './deposit.ts'
import type { IsReserved } from './payments-deps.ts'

export interface VerifierDeps {
  /** The leader's. */
  readonly engine: Engine
  readonly clock: Clock
  readonly newId: () => string
  readonly deposits: DepositIndex
  /** Credits on chains of an earlier file stay untouched. */
  readonly chainId: number
  readonly blockHash: BlockHashAt
  readonly isReserved?: IsReserved
  readonly confirmations: number
  /** Called after a credit or a reversal. */
  readonly onChange: () => void
}

export interface VerifierPass {
  readonly deps: VerifierDeps
  readonly nowUnix: number
  readonly failures: unknown[]
  /** Keyed by credit id, for missing logs in canonical or unknown blocks. */
  readonly lookedAtMs: Map<string, number>
}

/** A failure does not stop the others; a lost lead does. */
export async function attempt<T>(
  pass: VerifierPass,
  work: () => Promise<T>,
): Promise<T | undefined> {
  try {
    return await work()
  } catch (error) {
    if (error instanceof LeadLostError) throw error
    pass.failures.push(error)
    return undefined
  }
}
