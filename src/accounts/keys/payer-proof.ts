import type { PayerProof } from '#domain/payer-proof.ts'
import { isRefusal, type Refusal, refuse } from '#domain/refusal.ts'
import type { Clock } from '#lib/time.ts'
import { checkMessage } from './message.ts'
import { checkSigned } from './signed-message.ts'

/** Undefined when valid. It binds payer, chain, transaction and key, so replays are harmless. */
export async function verifyPayerProof(
  deps: { readonly serviceName: string; readonly clock: Clock },
  input: PayerProof,
): Promise<Refusal | undefined> {
  const { payerAddress: address, message, signature } = input
  const expected = { action: 'link-payer', freshness: input.freshness } as const
  const read = input.byContract
    ? checkMessage(deps, message, { ...expected, address })
    : checkSigned(deps, { ownerAddress: address, message, signature }, expected)
  if (isRefusal(read)) return read
  const { chain, transaction, key } = 'values' in read ? read.values : read
  if (
    chain === String(input.chainId) &&
    transaction?.toLowerCase() === input.txHash &&
    key === input.publicId
  )
    return undefined
  return refuse('message_wrong_action', 'the proof names another chain, transaction or key')
}
