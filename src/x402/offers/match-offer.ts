import { parseAddress } from '#domain/address.ts'
import type { MicroUsd } from '#domain/money.ts'
import type { Refusal } from '#domain/refusal.ts'
import { unixNow } from '#lib/time.ts'
import type { Recover } from '../recovery-guard.ts'
import type { X402Deps } from '../x402-deps.ts'
import { type Authorization, isSignedByPayer } from './authorization.ts'
import { networkOf } from './offer.ts'
import type { PaymentFault, PaymentPayload } from './payment-payload.ts'

const SECONDS_LEFT_MIN = 10n

/** Ours allow five minutes. A longer authorization must be watched as long. */
const SECONDS_LEFT_MAX = 3_600n

/** Compares with our own offers, never with the client's copy. Undefined if valid. */
export function matchOffer(
  deps: Pick<X402Deps, 'payment' | 'clock'>,
  amounts: readonly MicroUsd[],
  input: { readonly payload: PaymentPayload; readonly recover: Recover },
): PaymentFault | Refusal | undefined {
  const { payment } = deps
  const { payload, recover } = input
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
  if (authorization.validAfter >= now) return 'invalid_exact_evm_payload_authorization_valid_after'
  if (!hasTimeLeft(deps, authorization))
    return 'invalid_exact_evm_payload_authorization_valid_before'
  if (authorization.validBefore > now + SECONDS_LEFT_MAX)
    return 'invalid_exact_evm_payload_authorization_valid_before_too_late'
  const asset = { chainId: payment.chain.id, asset: payment.asset, domain: payment.domain }
  const isSigned = recover(() => isSignedByPayer(asset, authorization, payload.signature))
  return isSigned === true ? undefined : isSigned || 'invalid_exact_evm_payload_signature'
}

export function hasTimeLeft(
  deps: Pick<X402Deps, 'clock'>,
  { validBefore }: Pick<Authorization, 'validBefore'>,
): boolean {
  return validBefore >= BigInt(unixNow(deps.clock)) + SECONDS_LEFT_MIN
}
