/** Released codes never change. */
export const REFUSALS = {
  invalid_parameter: { status: 400, title: 'Invalid parameter' },
  invalid_json: { status: 400, title: 'Invalid JSON' },
  invalid_body: { status: 400, title: 'Invalid body' },
  invalid_address: { status: 400, title: 'Invalid address' },
  invalid_signature_format: { status: 400, title: 'Invalid signature format' },
  invalid_cursor: { status: 400, title: 'Invalid cursor' },
  invalid_api_key: { status: 401, title: 'Invalid API key' },
  invalid_signature: { status: 401, title: 'Invalid signature' },
  payment_required: { status: 402, title: 'Payment required' },
  holding_gate_not_met: { status: 403, title: 'Holding gate not met' },
  not_key_owner: { status: 403, title: 'Not the key owner' },
  spending_limit_reached: { status: 403, title: 'Spending limit reached' },
  not_found: { status: 404, title: 'Not found' },
  not_configured: { status: 404, title: 'Not configured' },
  key_not_found: { status: 404, title: 'Key not found' },
  webhook_not_found: { status: 404, title: 'Webhook not found' },
  prepayment_not_found: { status: 404, title: 'Prepayment not found' },
  method_not_allowed: { status: 405, title: 'Method not allowed' },
  signature_already_used: { status: 409, title: 'Signature already used' },
  key_limit_reached: { status: 409, title: 'Key limit reached' },
  webhook_limit_reached: { status: 409, title: 'Webhook limit reached' },
  payment_already_used: { status: 409, title: 'Payment already used' },
  payload_too_large: { status: 413, title: 'Payload too large' },
  unsupported_media_type: { status: 415, title: 'Unsupported media type' },
  message_malformed: { status: 422, title: 'Message malformed' },
  message_expired: { status: 422, title: 'Message expired' },
  message_address_mismatch: { status: 422, title: 'Message address mismatch' },
  message_wrong_action: { status: 422, title: 'Message for another action' },
  key_revoked: { status: 422, title: 'Key revoked' },
  rate_limited: { status: 429, title: 'Rate limited' },
  quota_exceeded: { status: 429, title: 'Quota exceeded' },
  internal_error: { status: 500, title: 'Internal error' },
  metering_unavailable: { status: 503, title: 'Metering unavailable' },
  gate_unavailable: { status: 503, title: 'Holding gate unavailable' },
  data_not_ready: { status: 503, title: 'Data not ready' },
  settlement_pending: { status: 503, title: 'Settlement pending' },
} as const satisfies Record<string, { status: number; title: string }>

export type RefusalCode = keyof typeof REFUSALS

export interface RefusalDetail {
  readonly in: 'query' | 'path' | 'header' | 'body'
  readonly name: string
  readonly reason: string
  readonly allowed?: readonly string[]
  readonly minimum?: number
  readonly maximum?: number
}

/** `message` is public. */
export interface Refusal {
  readonly kind: 'refusal'
  readonly code: RefusalCode
  readonly message: string
  readonly errors?: readonly RefusalDetail[]
  /** Public members of the error body. */
  readonly members?: Readonly<Record<string, unknown>>
  readonly retryAfterSeconds?: number
  readonly headers?: Readonly<Record<string, string>>
}

export function refuse(
  code: RefusalCode,
  message: string,
  more: Omit<Refusal, 'kind' | 'code' | 'message'> = {},
): Refusal {
  return { kind: 'refusal', code, message, ...more }
}

export function isRefusal(value: unknown): value is Refusal {
  return typeof value === 'object' && value !== null && 'kind' in value && value.kind === 'refusal'
}
