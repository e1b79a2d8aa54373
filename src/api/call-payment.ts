import type { Admission } from '#accounts/metering/meter/admission.ts'
import type { Refusal } from '#domain/refusal.ts'
import type { PaymentRequired } from '#route/route.ts'

type Headers = Readonly<Record<string, string>>

/** What became of the payment of a call; the answer carries the headers, even if it fails. */
export type CallPayment = ProvenPayment | OpenBalance | UnsettledPayment

/** The chain shows the deposit; it is credited when the call is answered. */
export interface ProvenPayment {
  readonly kind: 'proven'
  readonly headers: Headers
  /**
   * Call it once. Credits in one transaction with the call, if asked; undefined where the call was not charged, for example because another process credited first.
   */
  post(what: 'credit' | 'credit and call'): Promise<Admission | UnsettledPayment | undefined>
}

/** Another payment raised the caller's balance meanwhile. */
export interface OpenBalance {
  readonly kind: 'balance'
  readonly headers: Headers
}

/** Nothing credited (yet). */
export interface UnsettledPayment {
  readonly kind: 'unsettled'
  readonly headers: Headers
  readonly ending: Refusal | PaymentRequired
}
