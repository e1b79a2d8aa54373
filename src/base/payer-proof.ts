import type { Address, Hash } from './address.ts'

/** `day` where several owners sign one after another; `ignored` for stored proofs. */
export type Freshness = 'required' | 'day' | 'ignored'

/** A payer's consent that a transaction of theirs pays for another's key. */
export interface PayerProof {
  readonly payerAddress: Address
  readonly chainId: number
  readonly txHash: Hash
  readonly publicId: string
  readonly message: string
  readonly signature: string
  /** The contract is asked apart, when the proof is posted. */
  readonly byContract: boolean
  readonly freshness: Freshness
}
