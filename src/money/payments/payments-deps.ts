import type { Hash } from '#domain/address.ts'
import type { PayerProof } from '#domain/payer-proof.ts'
import type { Refusal } from '#domain/refusal.ts'
import type { Clock } from '#lib/time.ts'
import type { Connection, Engine } from '#store/engine.ts'
import type { ContractProofs } from './contract-proofs.ts'
import type { DepositIndex } from './deposit.ts'
import type { Notifier } from './notifier.ts'

export type VerifyPayerProof = (proof: PayerProof) => Promise<Refusal | undefined>

/** Whether a transaction settles an x402 payment, credited separately. */
export type IsReserved = (connection: Connection, txHash: Hash) => Promise<boolean>

export interface PaymentsDeps {
  readonly engine: Engine
  readonly clock: Clock
  readonly newId: () => string
  readonly chainId: number
  readonly confirmations: number
  readonly verifyPayerProof: VerifyPayerProof
  readonly contractProofs: ContractProofs
  readonly deposits: DepositIndex
  readonly isReserved?: IsReserved
  readonly notifier: Notifier
}
