import type { Hash } from '#domain/address.ts'
import type { Clock } from '#lib/clock.ts'
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
  /** The payment chain; credits of another one, which an earlier file named, are left as they are. */
  readonly chainId: number
  readonly blockHash: BlockHashAt
  readonly keys: KeyBook
  readonly shareOf: ShareOf
  /** Whether a transaction settles a payment that came by another door; none does without. */
  readonly isReserved?: (connection: Connection, txHash: Hash) => Promise<boolean>
  /** Blocks on top of a deposit's block before it is credited. */
  readonly confirmations: number
  /** Names this process among the replicas. */
  readonly holder: string
  /** Tells those who wait for a prepayment. */
  readonly onChange: (claimId: string) => void
}

/** One pass of the verifier. */
export interface Pass {
  readonly deps: VerifierDeps
  readonly nowUnix: number
  /** What went wrong with single claims and credits; it does not keep the others waiting. */
  readonly failures: unknown[]
  /** When a credit's block was found to stand in spite of a missing log, or unknown, by the credit's id. */
  readonly lookedAtMs: Map<string, number>
  /** Every change goes through here, so that a verifier that lost its lease changes nothing. */
  write<T>(work: (connection: Connection) => Promise<T>): Promise<T>
}

/** One claim or credit that fails must not stop the others; a lost lease stops them all. */
export async function attempt<T>(pass: Pass, work: () => Promise<T>): Promise<T | undefined> {
  try {
    return await work()
  } catch (error) {
    if (error instanceof LeaseLostError) throw error
    pass.failures.push(error)
    return undefined
  }
}
