import type { Address, Hash } from './address.ts'

/** A payer's consent that a transaction of theirs pays for another's key. */
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
