import type { PayerProof } from '#domain/payer-proof.ts'
import { isRefusal, type Refusal, refuse } from '#domain/refusal.ts'
import type { Clock } from '#lib/time.ts'
import { checkSigned } from './signed-message.ts'

/** Undefined when valid. It binds payer, chain, transaction and key, so replays are harmless. */
export async function verifyPayerProof(
  deps: { readonly serviceName: string; readonly clock: Clock },
  input: PayerProof,
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
