import { parseAddress, parseHash } from '#domain/address.ts'
import { parseSignature, type Signature } from '#domain/signature.ts'
import { isObject, type JsonObject } from '#lib/json.ts'
import type { RequestHeaders } from '#route/route.ts'
import type { Authorization } from './authorization.ts'

/** Scheme `exact` with an EIP-3009 authorization. */
export interface PaymentPayload {
  readonly version: 1 | 2
  /** CAIP-2 in version 2, a name in version 1. */
  readonly network: string
  readonly accepted:
    | { readonly amount: string; readonly asset: string; readonly payTo: string }
    | undefined
  readonly authorization: Authorization
  readonly signature: Signature
}

/** From the x402 specification where it has one. */
export type PaymentFault =
  | 'invalid_payload'
  | 'invalid_x402_version'
  | 'invalid_scheme'
  | 'invalid_network'
  | 'invalid_payment_requirements'
  | 'invalid_exact_evm_payload_recipient_mismatch'
  | 'invalid_exact_evm_payload_authorization_value_mismatch'
  | 'invalid_exact_evm_payload_authorization_valid_after'
  | 'invalid_exact_evm_payload_authorization_valid_before'
  | 'invalid_exact_evm_payload_authorization_valid_before_too_late'
  | 'invalid_exact_evm_payload_signature'
  | 'insufficient_funds'
  | 'invalid_transaction_state'
  | 'settlement_unavailable'

export function carriesPayment(headers: RequestHeaders): boolean {
  return headers['payment-signature'] !== undefined || headers['x-payment'] !== undefined
}

/**
 * `PAYMENT-SIGNATURE` (v2) or `X-PAYMENT` (v1). Both, or one repeated, are ambiguous and rejected.
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

export function decodeJson(text: string): unknown {
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
  const { scheme, network, amount, asset, payTo } = accepted
  if (scheme !== 'exact') return 'invalid_scheme'
  if (typeof network !== 'string' || typeof amount !== 'string') return 'invalid_payload'
  if (typeof asset !== 'string' || typeof payTo !== 'string') return 'invalid_payload'
  const signed = readSigned(value.payload)
  if (typeof signed === 'string') return signed
  return { version: 2, network, accepted: { amount, asset, payTo }, ...signed }
}

function readOlder(value: JsonObject): PaymentPayload | PaymentFault {
  if (value.scheme !== 'exact') return 'invalid_scheme'
  if (typeof value.network !== 'string') return 'invalid_payload'
  const signed = readSigned(value.payload)
  if (typeof signed === 'string') return signed
  return { version: 1, network: value.network, accepted: undefined, ...signed }
}

type Signed = Pick<PaymentPayload, 'authorization' | 'signature'>

function readSigned(payload: unknown): Signed | PaymentFault {
  if (!isObject(payload) || !isObject(payload.authorization)) return 'invalid_payload'
  const { from, to, value, validAfter, validBefore, nonce } = payload.authorization
  const [payer, payTo] = [toText(from, parseAddress), toText(to, parseAddress)]
  const [amount, after, before] = [value, validAfter, validBefore].map((each) =>
    toText(each, parseUint),
  )
  const hash = toText(nonce, parseHash)
  if (payer === undefined || payTo === undefined || hash === undefined) return 'invalid_payload'
  if (amount === undefined || after === undefined || before === undefined) return 'invalid_payload'
  const signature = toText(payload.signature, parseSignature)
  if (signature === undefined) return 'invalid_exact_evm_payload_signature'
  const authorization = {
    from: payer,
    to: payTo,
    value: amount,
    validAfter: after,
    validBefore: before,
    nonce: hash,
  }
  return { authorization, signature }
}

function toText<T>(value: unknown, parse: (text: string) => T | undefined): T | undefined {
  return typeof value === 'string' ? parse(value) : undefined
}

const UINT = /^(0|[1-9][0-9]{0,77})$/

function parseUint(text: string): bigint | undefined {
  if (!UINT.test(text)) return undefined
  const value = BigInt(text)
  return value < 2n ** 256n ? value : undefined
}
