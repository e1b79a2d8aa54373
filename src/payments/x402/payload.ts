import { type Address, type Hash, parseAddress, parseHash, showAddress } from '#base/address.ts'
import { isObject } from '#base/json.ts'
import type { MicroUsd } from '#base/money.ts'
import { parseSignature } from '#base/signature.ts'
import { unixNow } from '#base/time.ts'
import type { Context } from '#context.ts'
import type { RequestHeaders } from '#route.ts'
import { FAULTS, type PaymentFault, requirePayment, toBase64, toCaip2 } from './offer.ts'

/** The EIP-3009 transfer that a payer signs, of exactly the offered amount. Addresses are in lower case. */
export interface Authorization {
  readonly from: Address
  readonly to: Address
  readonly value: bigint
  /** Unix seconds. */
  readonly validAfter: bigint
  readonly validBefore: bigint
  /** Unique per payer, for ever. */
  readonly nonce: Hash
}

export interface Signed {
  readonly authorization: Authorization
  /** 65 bytes from a key, any bytes from a contract wallet. */
  readonly signature: `0x${string}`
}

export interface PaymentPayload extends Signed {
  readonly version: 1 | 2
  /** CAIP-2 in version 2, a name in version 1. */
  readonly network: string
  readonly accepted:
    | { readonly amount: string; readonly asset: string; readonly payTo: string }
    | undefined
}

/** Reads `PAYMENT-SIGNATURE` (v2) or `X-PAYMENT` (v1). Both at once, or a repeated one, are rejected as ambiguous. */
export function readPayment(headers: RequestHeaders): PaymentPayload | PaymentFault {
  const [current, older] = [headers['payment-signature'], headers['x-payment']]
  if (current !== undefined && older !== undefined) return 'invalid_payload'
  const text = current ?? older
  if (typeof text !== 'string') return 'invalid_payload'
  const value = decodeJson(text)
  if (!isObject(value)) return 'invalid_payload'
  const version = current === undefined ? 1 : 2
  if (value.x402Version !== version) return 'invalid_x402_version'
  const chosen = version === 1 ? value : value.accepted
  if (!isObject(chosen)) return 'invalid_payload'
  if (chosen.scheme !== 'exact') return 'invalid_scheme'
  const { network, amount, asset, payTo } = chosen
  if (typeof network !== 'string') return 'invalid_payload'
  const signed = readSigned(value.payload)
  if (typeof signed === 'string') return signed
  if (version === 1) return { version, network, accepted: undefined, ...signed }
  if (typeof amount !== 'string' || typeof asset !== 'string' || typeof payTo !== 'string')
    return 'invalid_payload'
  return { version, network, accepted: { amount, asset, payTo }, ...signed }
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

export function readSigned(payload: unknown): Signed | PaymentFault {
  if (!isObject(payload)) return 'invalid_payload'
  const { permit2Authorization, authorization: given } = payload
  if (permit2Authorization !== undefined) return 'unsupported_payload_type'
  if (!isObject(given)) return 'invalid_payload'
  const from = parseAddress(text(given.from))
  const to = parseAddress(text(given.to))
  const value = parseUint(text(given.value))
  const validAfter = parseUint(text(given.validAfter))
  const validBefore = parseUint(text(given.validBefore))
  const nonce = parseHash(text(given.nonce))
  if (from === undefined || to === undefined || nonce === undefined) return 'invalid_payload'
  if (value === undefined || validAfter === undefined || validBefore === undefined)
    return 'invalid_payload'
  const signature = parseBytes(text(payload.signature))
  if (signature === undefined) return 'invalid_exact_evm_payload_signature'
  return { authorization: { from, to, value, validAfter, validBefore, nonce }, signature }
}

function text(value: unknown): string {
  return typeof value === 'string' ? value : ''
}

const UINT = /^(0|[1-9][0-9]{0,77})$/

function parseUint(digits: string): bigint | undefined {
  if (!UINT.test(digits)) return undefined
  const value = BigInt(digits)
  return value < 2n ** 256n ? value : undefined
}

/** At most 2 KB: some thirty owners of a contract wallet. */
const BYTES = /^0x(?:[0-9a-f]{2}){1,2048}$/

/** Normalizes a key's signature to v of 27 or 28. */
function parseBytes(given: string): `0x${string}` | undefined {
  const hex = given.toLowerCase()
  if (!BYTES.test(hex)) return undefined
  return parseSignature(hex) ?? (hex as `0x${string}`)
}

/** Writes a payload in the form of the library's clients. */
export function writeSigned({ authorization, signature }: Signed): Record<string, unknown> {
  return {
    signature,
    authorization: {
      ...authorization,
      from: showAddress(authorization.from),
      to: showAddress(authorization.to),
      value: String(authorization.value),
      validAfter: String(authorization.validAfter),
      validBefore: String(authorization.validBefore),
    },
  }
}

const SECONDS_LEFT_MIN = 10n

/** Our offers allow five minutes; a longer authorization would have to be watched longer. */
const SECONDS_LEFT_MAX = 3_600n

/** Compares with our own offers, never with the client's copy. Returns undefined if it fits; the facilitator checks the signature. */
export function checkOffer(
  ctx: Pick<Context, 'ecosystem' | 'clock'>,
  amounts: readonly MicroUsd[],
  payload: PaymentPayload,
): PaymentFault | undefined {
  const payment = requirePayment(ctx)
  const { authorization, accepted, version } = payload
  const network = version === 1 ? payment.chain.name : toCaip2(payment.chain.id)
  if (payload.network !== network) return 'invalid_network'
  const isOurs =
    accepted === undefined ||
    (parseAddress(accepted.asset) === payment.asset &&
      parseAddress(accepted.payTo) === authorization.to &&
      accepted.amount === String(authorization.value))
  if (!isOurs) return 'invalid_payment_requirements'
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

export function hasTimeLeft({ clock }: Pick<Context, 'clock'>, { validBefore }: Authorization) {
  return validBefore >= BigInt(unixNow(clock)) + SECONDS_LEFT_MIN
}

/** Encodes a SettleResponse; the header's name depends on the version. */
export function paymentResponseHeaders(
  ctx: Pick<Context, 'ecosystem'>,
  payload: PaymentPayload | undefined,
  transaction: Hash | null,
  errorReason?: PaymentFault | 'settlement_pending',
): Readonly<Record<string, string>> {
  const { chain } = requirePayment(ctx)
  const isOlder = payload?.version === 1
  const signed = payload?.authorization
  const response = {
    success: errorReason === undefined,
    transaction: transaction ?? '',
    network: isOlder ? chain.name : toCaip2(chain.id),
    ...(signed && { payer: signed.from, amount: String(signed.value) }),
    ...(errorReason !== undefined && { errorReason }),
    ...(errorReason !== undefined &&
      errorReason !== 'settlement_pending' && { errorMessage: FAULTS[errorReason] }),
  }
  return { [isOlder ? 'X-PAYMENT-RESPONSE' : 'PAYMENT-RESPONSE']: toBase64(response) }
}
