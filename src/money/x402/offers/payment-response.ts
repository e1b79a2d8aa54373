import type { Payment } from '#chains/ecosystem/ecosystem.ts'
import type { Hash } from '#domain/address.ts'
import { FAULTS, type PaymentFault } from '../faults.ts'
import { networkOf, toBase64 } from './offer.ts'
import type { PaymentPayload } from './payment-payload.ts'

export interface PaymentResponse {
  readonly payload: Pick<PaymentPayload, 'version' | 'authorization'> | undefined
  readonly transaction: Hash | null
  readonly errorReason?: PaymentFault | 'settlement_pending'
}

/** Returns a SettleResponse; its header depends on the version. */
export function paymentResponseHeaders(
  payment: Payment,
  { payload, transaction, errorReason }: PaymentResponse,
): Readonly<Record<string, string>> {
  const isOlder = payload?.version === 1
  const response = {
    success: errorReason === undefined,
    transaction: transaction ?? '',
    network: isOlder ? payment.chain.name : networkOf(payment.chain.id),
    ...(payload !== undefined && { payer: payload.authorization.from }),
    ...(payload !== undefined && { amount: String(payload.authorization.value) }),
    ...(errorReason !== undefined && { errorReason }),
    ...(errorReason !== undefined &&
      errorReason !== 'settlement_pending' && { errorMessage: FAULTS[errorReason] }),
  }
  return { [isOlder ? 'X-PAYMENT-RESPONSE' : 'PAYMENT-RESPONSE']: toBase64(response) }
}
