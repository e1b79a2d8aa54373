import type { Address, Hash } from './address.ts'

/** `day` allows several owners to sign one after another; `ignored` is for stored proofs. */
export type Freshness = 'required' | 'day' | 'ignored'

/** A payer's signed consent that a transaction of theirs pays for someone else's key. */
export interface PayerProof {
  readonly payerAddress: Address
  readonly chainId: number
  readonly txHash: Hash
  readonly publicId: string
  readonly message: string
  readonly signature: string
  /** Whether a contract signed; the service asks the contract itself when the proof is posted. */
  readonly byContract: boolean
  readonly freshness: Freshness
}
