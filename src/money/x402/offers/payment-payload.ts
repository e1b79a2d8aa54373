import { isObject, type JsonObject } from '#lib/json.ts'
import type { RequestHeaders } from '#route/route.ts'
import type { PaymentFault } from '../faults.ts'
import type { Signed } from '../schemes/scheme.ts'
import { findScheme } from '../schemes/schemes.ts'

export interface PaymentPayload extends Signed {
  readonly version: 1 | 2
  readonly scheme: string
  /** CAIP-2 in version 2, a name in version 1. */
  readonly network: string
  readonly accepted:
    | { readonly amount: string; readonly asset: string; readonly payTo: string }
    | undefined
}

export function carriesPayment(headers: RequestHeaders): boolean {
  return headers['payment-signature'] !== undefined || headers['x-payment'] !== undefined
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
