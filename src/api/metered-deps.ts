import type { Meter } from '#accounts/metering/meter/admission.ts'
import type { Call } from '#api/http/call.ts'
import type { Context } from '#context.ts'
import type { Caller } from '#domain/caller.ts'
import type { Refusal } from '#domain/refusal.ts'
import type { PaymentRequired, RequestFacts, Route } from '#route/route.ts'
import type { CallPayment } from './call-payment.ts'

export interface MeteredDeps {
  readonly ctx: Context
  readonly meter: Meter
  /** The caller of the Authorization header, or `invalid_api_key`. */
  identify(headers: Call['headers'], addressBucket: string): Promise<Caller | Refusal>
  anonymous(addressBucket: string): Caller
  /** Takes a token of the caller or the address; `rate_limited` when none is left. */
  guard(caller: Caller, addressBucket: string, kind: Route['guard']): Refusal | undefined
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
