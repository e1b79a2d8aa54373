import type { Context } from '#context.ts'
import { type Hash, parseAddress } from '#domain/address.ts'
import type { MicroUsd } from '#domain/money.ts'
import { isObject, type JsonObject } from '#lib/json.ts'
import { unixNow } from '#lib/time.ts'
import { paymentOf } from '#money/payments/offers.ts'
import type { RequestHeaders } from '#route/route.ts'
import { FAULTS, type PaymentFault } from './faults.ts'
import type { Authorization, Signed } from './schemes/scheme.ts'
import { findScheme } from './schemes/schemes.ts'

export interface PaymentPayload extends Signed {
  readonly version: 1 | 2
  readonly scheme: string
  /** CAIP-2 in version 2, a name in version 1. */
  readonly network: string
  readonly accepted:
    | { readonly amount: string; readonly asset: string; readonly payTo: string }
    | undefined
}

/**
 * Reads `PAYMENT-SIGNATURE` (v2) or `X-PAYMENT` (v1). Both, or one repeated, are ambiguous and rejected.
 */
export function readPayment(headers: RequestHeaders): PaymentPayload | PaymentFault {
  const [current, older] = [headers['payment-signature'], headers['x-payment']]
  if (current !== undefined && older !== undefined) return 'invalid_payload'
  const text = current ?? older
  if (typeof text !== 'string') return 'invalid_payload'
  const value = decodeJson(text)
  if (!isObject(value)) return 'invalid_payload'
  if (value.x402Version !== (current === undefined ? 1 : 2)) return 'invalid_x402_version'
  return current === undefined ? readOlder(value) : readCurrent(value)
}

const BASE64 = /^[A-Za-z0-9+/]+={0,2}$/

const HEADER_LENGTH_MAX = 8_192

function decodeJson(text: string): unknown {
  if (text.length > HEADER_LENGTH_MAX || !BASE64.test(text)) return undefined
  try {
    return JSON.parse(Buffer.from(text, 'base64').toString('utf8'))
  } catch {
    return undefined
  }
}

function readCurrent(value: JsonObject): PaymentPayload | PaymentFault {
  const { accepted } = value
  if (!isObject(accepted)) return 'invalid_payload'
  const { network, amount, asset, payTo } = accepted
  const scheme = findScheme(accepted.scheme)
  if (scheme === undefined) return 'invalid_scheme'
  if (typeof network !== 'string' || typeof amount !== 'string') return 'invalid_payload'
  if (typeof asset !== 'string' || typeof payTo !== 'string') return 'invalid_payload'
  const signed = scheme.read(value.payload)
  if (typeof signed === 'string') return signed
  return { version: 2, scheme: scheme.name, network, accepted: { amount, asset, payTo }, ...signed }
}

function readOlder(value: JsonObject): PaymentPayload | PaymentFault {
  const scheme = findScheme(value.scheme)
  if (scheme === undefined) return 'invalid_scheme'
  if (typeof value.network !== 'string') return 'invalid_payload'
  const signed = scheme.read(value.payload)
  if (typeof signed === 'string') return signed
  return { version: 1, scheme: scheme.name, network: value.network, accepted: undefined, ...signed }
}

const SECONDS_LEFT_MIN = 10n

/** Ours allow five minutes. A longer authorization must be watched as long. */
const SECONDS_LEFT_MAX = 3_600n

/** Compares with our own offers, never with the client's copy. Undefined if it fits; the signature is checked apart. */
export function matchOffer(
  ctx: Pick<Context, 'ecosystem' | 'clock'>,
  amounts: readonly MicroUsd[],
  payload: PaymentPayload,
): PaymentFault | undefined {
  const payment = paymentOf(ctx)
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
  const now = BigInt(unixNow(ctx.clock))
  if (authorization.validAfter > now) return 'invalid_exact_evm_payload_authorization_valid_after'
  if (!hasTimeLeft(ctx, authorization))
    return 'invalid_exact_evm_payload_authorization_valid_before'
  if (authorization.validBefore > now + SECONDS_LEFT_MAX)
    return 'invalid_exact_evm_payload_authorization_valid_before_too_late'
  return undefined
}

export function hasTimeLeft(
  ctx: Pick<Context, 'clock'>,
  { validBefore }: Pick<Authorization, 'validBefore'>,
): boolean {
  return validBefore >= BigInt(unixNow(ctx.clock)) + SECONDS_LEFT_MIN
}

export interface PaymentResponse {
  readonly payload: Pick<PaymentPayload, 'version' | 'authorization'> | undefined
  readonly transaction: Hash | null
  readonly errorReason?: PaymentFault | 'settlement_pending'
}

/** Returns a SettleResponse; its header depends on the version. */
export function paymentResponseHeaders(
  ctx: Pick<Context, 'ecosystem'>,
  { payload, transaction, errorReason }: PaymentResponse,
): Readonly<Record<string, string>> {
  const { chain } = paymentOf(ctx)
  const isOlder = payload?.version === 1
  const response = {
    success: errorReason === undefined,
    transaction: transaction ?? '',
    network: isOlder ? chain.name : networkOf(chain.id),
    ...(payload !== undefined && { payer: payload.authorization.from }),
    ...(payload !== undefined && { amount: String(payload.authorization.value) }),
    ...(errorReason !== undefined && { errorReason }),
    ...(errorReason !== undefined &&
      errorReason !== 'settlement_pending' && { errorMessage: FAULTS[errorReason] }),
  }
  return { [isOlder ? 'X-PAYMENT-RESPONSE' : 'PAYMENT-RESPONSE']: toBase64(response) }
}

export function networkOf(chainId: number): `eip155:${number}` {
  return `eip155:${chainId}`
}

export function toBase64(value: unknown): string {
  return Buffer.from(JSON.stringify(value), 'utf8').toString('base64')
}
