import type { Admission } from '#accounts/metering/meter/admission.ts'
import type { Context } from '#context.ts'
import type { Caller } from '#domain/caller.ts'
import type { Refusal } from '#domain/refusal.ts'
import type { PaymentRequired, RequestFacts } from '#route/route.ts'

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

export interface MeteredDeps {
  readonly ctx: Context
  /** The payment offer, or a refusal where payments are off. */
  paymentRequired(
    caller: Caller,
    facts: RequestFacts,
  ): PaymentRequired | Refusal | Promise<PaymentRequired | Refusal>
  /**
   * Whether a payment came with the request; refuses a used one, also where the call would be free.
   * `credited`: it still serves a call, this one if it is for the caller's balance.
   */
  rejectUsedPayment?(facts: RequestFacts): Promise<Refusal | 'carried' | 'credited' | undefined>
  /** Settles a payment that came with the request; undefined when none came. */
  settle?(caller: Caller, facts: RequestFacts): Promise<CallPayment | undefined>
}
