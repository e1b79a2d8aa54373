import { createAvailability } from './offers/availability.ts'
import { type CallHooks, CallPayments } from './pay-for-call.ts'
import { PaymentReceiver } from './payment-receiver.ts'
import type { SettleDeps } from './settling/settle-payment.ts'
import { createSubmitter } from './settling/submit-intent.ts'
import type { X402Deps } from './x402-deps.ts'

export interface X402<A> {
  readonly calls: CallPayments<A>
  readonly receiver: PaymentReceiver
  readonly settling: SettleDeps
}

export function createX402<A>(deps: X402Deps & CallHooks<A>): X402<A> {
  const settling = {
    ...deps,
    availability: createAvailability({
      ...deps,
      chainId: deps.payment.chain.id,
      proof: deps.payment.proof,
    }),
    submit: createSubmitter(deps),
  }
  const receiver = new PaymentReceiver(settling)
  return { settling, receiver, calls: new CallPayments({ ...settling, receiver }) }
}
