import type { Address, Hash } from '#domain/address.ts'
import type { Refusal } from '#domain/refusal.ts'
import type { Clock } from '#lib/time.ts'
import type { Connection, Engine } from '#store/engine.ts'
import type { DepositIndex } from './deposit.ts'
import type { Waker } from './waker.ts'

/** A payer's signed word that one transaction pays for a key that is not his. */
export interface PayerProof {
  readonly payerAddress: Address
  readonly chainId: number
  readonly txHash: Hash
  readonly publicId: string
  readonly message: string
  readonly signature: string
  /** `ignored` when the audit looks at a stored proof again. */
  readonly freshness: 'required' | 'ignored'
}

/** Undefined when the proof holds. */
export type VerifyPayerProof = (proof: PayerProof) => Promise<Refusal | undefined>

/** What payments must know of keys inside their own transactions. */
export interface KeyBook {
  /** The key that stands for this one now: itself, or the newest of its rotations; stays so. */
  lockHeir(connection: Connection, publicId: string): Promise<string>
  /** Every key of a wallet, revoked ones too. */
  keysOf(connection: Connection, wallet: Address): Promise<readonly string[]>
}

export interface PaymentsDeps {
  /** The accounts store, migrated with `ledgerMigrations` and `paymentsMigrations`. */
  readonly engine: Engine
  readonly clock: Clock
  /** A random UUID. */
  readonly newId: () => string
  readonly chainId: number
  readonly confirmations: number
  readonly findKey: (
    publicId: string,
  ) => Promise<{ readonly wallet: Address; readonly revokedUnix: number | null } | undefined>
  readonly verifyPayerProof: VerifyPayerProof
  readonly deposits: DepositIndex
  readonly waker: Waker
}
