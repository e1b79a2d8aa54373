import type { Address, Hash } from '#domain/address.ts'
import type { Refusal } from '#domain/refusal.ts'
import type { Clock } from '#lib/time.ts'
import type { Connection, Engine } from '#store/engine.ts'
import type { DepositIndex } from './deposit.ts'
import type { Waker } from './waker.ts'

export interface PayerProof {
  readonly payerAddress: Address
  readonly chainId: number
  readonly txHash: Hash
  readonly publicId: string
  readonly message: string
  readonly signature: string
  /** `ignored` for stored proofs. */
  readonly freshness: 'required' | 'ignored'
}

export type VerifyPayerProof = (proof: PayerProof) => Promise<Refusal | undefined>

export interface KeyBook {
  /** A key's newest rotation, locked. */
  lockSuccessor(connection: Connection, publicId: string): Promise<string>
  keysOf(connection: Connection, wallet: Address): Promise<readonly string[]>
}

export interface PaymentsDeps {
  readonly engine: Engine
  readonly clock: Clock
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
