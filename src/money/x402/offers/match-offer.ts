import { parseAddress } from '#domain/address.ts'
import type { MicroUsd } from '#domain/money.ts'
import { unixNow } from '#lib/time.ts'
import type { PaymentFault } from '../faults.ts'
import type { Authorization } from '../schemes/scheme.ts'
import type { X402Deps } from '../x402-deps.ts'
import { networkOf } from './offer.ts'
import type { PaymentPayload } from './payment-payload.ts'

const SECONDS_LEFT_MIN = 10n

/** Ours allow five minutes. A longer authorization must be watched as long. */
const SECONDS_LEFT_MAX = 3_600n

/** Compares with our own offers, never with the client's copy. Undefined if it fits; the signature is checked apart. */
export function matchOffer(
  deps: Pick<X402Deps, 'payment' | 'clock'>,
  amounts: readonly MicroUsd[],
  payload: PaymentPayload,
): PaymentFault | undefined {
  const { payment } = deps
  const { authorization, accepted, version } = payload
  const network = version === 1 ? payment.chain.name : networkOf(payment.chain.id)
  if (payload.network !== network) return 'invalid_network'
  if (accepted !== undefined) {
    const isOurs =
      parseAddress(accepted.asset) === payment.asset &&
      parseAddress(accepted.payTo) === authorization.to &&
      accepted.amount === String(authorization.value)
    if (!isOurs) return 'invalid_payment_requirements'
  }
  if (!payment.payTo.some((each) => each.address === authorization.to))
    return 'invalid_exact_evm_payload_recipient_mismatch'
  if (!amounts.includes(authorization.value))
    return 'invalid_exact_evm_payload_authorization_value_mismatch'
  const now = BigInt(unixNow(deps.clock))
  if (authorization.validAfter > now) return 'invalid_exact_evm_payload_authorization_valid_after'
  if (!hasTimeLeft(deps, authorization))
    return 'invalid_exact_evm_payload_authorization_valid_before'
  if (authorization.validBefore > now + SECONDS_LEFT_MAX)
    return 'invalid_exact_evm_payload_authorization_valid_before_too_late'
  return undefined
}

export function hasTimeLeft(
  deps: Pick<X402Deps, 'clock'>,
  { validBefore }: Pick<Authorization, 'validBefore'>,
): boolean {
  return validBefore >= BigInt(unixNow(deps.clock)) + SECONDS_LEFT_MIN
}
