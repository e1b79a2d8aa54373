import { createReadiness } from './facilitators/readiness.ts'
import { type CallHooks, CallPayments } from './pay-for-call.ts'
import { PaymentReceiver } from './payment-receiver.ts'
import type { SettleDeps } from './settling/settle-payment.ts'
import type { X402Deps } from './x402-deps.ts'

export interface X402 {
  readonly calls: CallPayments
  readonly receiver: PaymentReceiver
  readonly settling: SettleDeps
}

/** Clients tolerate ten seconds. */
const WAIT_MS = 10_000

export function createX402(deps: Omit<X402Deps, 'readiness'> & CallHooks): X402 {
  const settling = { ...deps, readiness: createReadiness(deps), waitMs: WAIT_MS }
  const receiver = new PaymentReceiver(settling)
  return { settling, receiver, calls: new CallPayments({ ...settling, receiver }) }
}
