import type { Address, Hash } from '#domain/address.ts'
import { isRefusal, type Refusal, refuse } from '#domain/refusal.ts'
import type { Clock } from '#lib/time.ts'
import { checkSigned } from './signed-message.ts'

/** A payer's consent that a transaction of theirs pays for another's key. */
export interface PayerProofInput {
  readonly payerAddress: Address
  readonly chainId: number
  readonly txHash: Hash
  readonly publicId: string
  readonly message: string
  readonly signature: string
  /** `ignored` for stored proofs. */
  readonly freshness: 'required' | 'ignored'
}

/** Undefined when valid. It binds payer, chain, transaction and key, so replays are harmless. */
export async function verifyPayerProof(
  deps: { readonly serviceName: string; readonly clock: Clock },
  input: PayerProofInput,
): Promise<Refusal | undefined> {
  const { message, signature, freshness } = input
  const signed = checkSigned(
    deps,
    { ownerAddress: input.payerAddress, message, signature },
    { action: 'link-payer', freshness },
  )
  if (isRefusal(signed)) return signed
  const { chain, transaction, key } = signed.values
  if (
    chain === String(input.chainId) &&
    transaction?.toLowerCase() === input.txHash &&
    key === input.publicId
  )
    return undefined
  return refuse('message_wrong_action', 'the proof names another chain, transaction or key')
}
