import type { Hash } from '#domain/address.ts'
import type { Clock } from '#lib/time.ts'
import type { Connection, Engine } from '#store/engine.ts'
import { LeaseLostError } from '#store/lease.ts'
import type { ShareOf } from './credit.ts'
import type { BlockHashAt, DepositIndex } from './deposit.ts'
import type { KeyBook } from './payments-deps.ts'

export interface VerifierDeps {
  /** The accounts store. */
  readonly engine: Engine
  readonly clock: Clock
  readonly newId: () => string
  readonly deposits: DepositIndex
  /** The payment chain; credits on a chain of an earlier file are not touched. */
  readonly chainId: number
  readonly blockHash: BlockHashAt
  readonly keys: KeyBook
  readonly shareOf: ShareOf
  /** Whether a transaction settles an x402 payment, which is credited separately; absent without x402. */
  readonly isReserved?: (connection: Connection, txHash: Hash) => Promise<boolean>
  /** Blocks on top of a deposit's block before it is credited. */
  readonly confirmations: number
  /** Unique among replicas. */
  readonly holder: string
  /** Wakes requests that wait for a prepayment. */
  readonly onChange: (claimId: string) => void
}

/** One pass of the verifier. */
export interface Pass {
  readonly deps: VerifierDeps
  readonly nowUnix: number
  /** Errors of single claims and credits, reported after the pass. */
  readonly failures: unknown[]
  /** Last check of credits whose block was canonical despite a missing log, or unknown; by credit id. */
  readonly lookedAtMs: Map<string, number>
  /** Checks the lease, so that a verifier that lost it changes nothing. */
  write<T>(work: (connection: Connection) => Promise<T>): Promise<T>
}

/** Collects failures, so that one claim or credit does not stop the others; a lost lease stops all. */
export async function attempt<T>(pass: Pass, work: () => Promise<T>): Promise<T | undefined> {
  try {
    return await work()
  } catch (error) {
    if (error instanceof LeaseLostError) throw error
    pass.failures.push(error)
    return undefined
  }
}
