import { createHash } from 'node:crypto'
import { type Address, parseAddress } from '#domain/address.ts'
import type { Freshness } from '#domain/payer-proof.ts'
import { isRefusal, type Refusal, refuse } from '#domain/refusal.ts'
import { parseSignature, recoverSigner } from '#domain/signature.ts'
import type { Clock } from '#lib/time.ts'
import { type Action, checkMessage, type MessageValues } from './message.ts'

export interface SignedInput {
  readonly ownerAddress: string
  readonly signature: string
  readonly message: string
}

export interface SignedMessage {
  readonly wallet: Address
  readonly values: MessageValues
  /** Digest of message and address, since signatures can be re-encoded. */
  readonly digest: string
}

/** Recovery takes milliseconds, so it comes last. */
export function checkSigned(
  deps: { readonly serviceName: string; readonly clock: Clock },
  input: SignedInput,
  expected: { readonly action: Action; readonly freshness: Freshness },
): SignedMessage | Refusal {
  const wallet = parseAddress(input.ownerAddress)
  if (wallet === undefined) return refuse('invalid_address', 'the wallet address is not valid')
  const signature = parseSignature(input.signature)
  if (signature === undefined)
    return refuse(
      'invalid_signature_format',
      'signature must be 130 hex digits, with or without 0x, with low s and v of 27 or 28',
    )
  const values = checkMessage(deps, input.message, { ...expected, address: wallet })
  if (isRefusal(values)) return values
  if (recoverSigner(input.message, signature) !== wallet)
    return refuse('invalid_signature', 'the message was not signed by this wallet')
  return { wallet, values, digest: digestOf(input.message, wallet) }
}

function digestOf(message: string, wallet: Address): string {
  return createHash('sha256').update(`${wallet}\n${message}`).digest('hex')
}
