import { isDeepStrictEqual } from 'node:util'
import type { Address, Hash } from '#domain/address.ts'
import type { PaymentFault } from '../faults.ts'
import type { Signed } from '../schemes/scheme.ts'

/**
 * `reserved`: no facilitator was asked to send it. `submitted`: one was; only the chain says what
 * became of it. `credited`: done. Ended without money: `abandoned` before, `failed` after it was
 * submitted, `claimed` if a prepayment has the deposit. Abandoned and failed ones are still credited
 * if others send the authorization.
 */
export type PaymentStatus =
  | 'reserved'
  | 'submitted'
  | 'credited'
  | 'abandoned'
  | 'failed'
  | 'claimed'

export type Payee =
  | {
      readonly kind: 'key'
      readonly publicId: string
      readonly wallet: Address
      /** False where somebody else pays for it: anyone may. */
      readonly isOwn: boolean
    }
  | { readonly kind: 'bucket'; readonly bucket: string }

/** How far before a payment was reserved its transfer is looked for: an offer's five minutes, 150 blocks on Base. */
export const EARLIER_BLOCKS = 400

/** One per authorization, forever. */
export interface X402Payment extends Signed {
  readonly id: string
  readonly scheme: string
  readonly chainId: number
  readonly asset: Address
  readonly payee: Payee
  readonly status: PaymentStatus
  readonly createdUnix: number
  /** Head when reserved. Who held the signature may have sent it up to `EARLIER_BLOCKS` before. */
  readonly fromBlock: number
  /** A facilitator's word until the status is `credited`. */
  readonly txHash: Hash | null
  /** Why it ended without money. Null: it was used before, and no node shows by what. */
  readonly reason: PaymentFault | null
  /** The payment's own call was answered, or its top-up. */
  readonly isServed: boolean
}

export function samePayee(one: Payee, other: Payee): boolean {
  return nameOfPayee(one) === nameOfPayee(other)
}

/** The nonce alone is public as soon as the payment is. */
export function sameSigned(one: Signed, other: Signed): boolean {
  return (
    one.signature === other.signature && isDeepStrictEqual(one.authorization, other.authorization)
  )
}

function nameOfPayee(payee: Payee): string {
  return payee.kind === 'key' ? `key ${payee.publicId}` : `bucket ${payee.bucket}`
}
