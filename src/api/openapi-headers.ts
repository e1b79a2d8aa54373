import { tiers } from '#domain/tier.ts'
import type { JsonObject } from '#lib/json.ts'

const text = (description: string, more: JsonObject = {}): JsonObject => ({
  description,
  required: true,
  schema: { type: 'string', ...more },
})

const count = (description: string): JsonObject => ({
  description,
  required: true,
  schema: { type: 'integer', minimum: 0 },
})

const optional = (header: JsonObject): JsonObject => ({ ...header, required: false })

const HEADER_COMPONENTS: Readonly<Record<string, JsonObject>> = {
  'X-RateLimit-Limit': count("The caller's daily quota"),
  'X-RateLimit-Remaining': count('Free calls left today'),
  'X-RateLimit-Reset': count('Unix seconds of the next reset (00:00 UTC)'),
  'X-RateLimit-Tier': text("The caller's tier", { enum: tiers.map(({ name }) => name) }),
  'X-RateLimit-Source': text('What paid for the call', { enum: ['quota', 'prepaid'] }),
  'RateLimit-Policy': text('IETF form of the quota', {
    pattern: '^"daily";q=[0-9]+;w=86400$',
    examples: ['"daily";q=2000;w=86400'],
  }),
  RateLimit: text('IETF form: calls left and seconds to the reset', {
    pattern: '^"daily";r=[0-9]+;t=[0-9]+$',
    examples: ['"daily";r=1999;t=43200'],
  }),
  'X-Request-Id': text('Identifies this request; quote it to support'),
  'X-Ignored-Parameters': optional(
    text('Unknown query parameters and body members, percent-encoded, with a comma between'),
  ),
  'Access-Control-Allow-Origin': text('Any origin may read', { const: '*' }),
  'Cache-Control': text('What a cache may do'),
  ETag: optional(text('The state that the answer shows', { pattern: '^W/"[^"]+"$' })),
  Link: optional(text('The next page, rel="next" (RFC 8288)')),
  'Content-Disposition': optional(text('Of CSV: a name for the file')),
  'Retry-After': count('Seconds to wait before the next try'),
  'PAYMENT-REQUIRED': optional(
    text('What stock x402 clients can pay at once: base64 of a PaymentRequired, x402 version 2'),
  ),
  'PAYMENT-RESPONSE': optional(
    text('Result of the payment sent with the call: base64 of an x402 SettleResponse'),
  ),
  'X-PAYMENT-RESPONSE': optional(text('The same for a payment in X-PAYMENT, x402 version 1')),
  'WWW-Authenticate': text('The scheme of a key', { const: 'Bearer' }),
}

const everywhere = [
  'X-RateLimit-Limit',
  'X-RateLimit-Remaining',
  'X-RateLimit-Reset',
  'X-RateLimit-Tier',
  'RateLimit-Policy',
  'RateLimit',
  'X-Request-Id',
  'X-Ignored-Parameters',
  'Access-Control-Allow-Origin',
  'Cache-Control',
]

const paymentResponses = ['PAYMENT-RESPONSE', 'X-PAYMENT-RESPONSE']

const ofPayments: readonly string[] = ['PAYMENT-REQUIRED', ...paymentResponses]

export const ANSWER_HEADERS = {
  free: everywhere,
  paid: [...everywhere, ...paymentResponses],
  metered: [...everywhere, 'X-RateLimit-Source', 'ETag', 'Link', ...paymentResponses],
  payment: [...everywhere, 'PAYMENT-REQUIRED', ...paymentResponses],
}

export function refusalHeaders(status: number): readonly string[] {
  if (status === 401) return [...everywhere, 'WWW-Authenticate']
  if (status === 503) return [...everywhere, 'Retry-After', ...paymentResponses]
  if (status === 500 || status === 409) return [...everywhere, ...paymentResponses]
  return status === 429 ? [...everywhere, 'Retry-After'] : everywhere
}

export function headerRefs(names: readonly string[], takesPayments: boolean): JsonObject {
  const present = names.filter((name) => takesPayments || !ofPayments.includes(name))
  return Object.fromEntries(present.map((name) => [name, { $ref: `#/components/headers/${name}` }]))
}

export function headerComponents(has: {
  readonly payments: boolean
  readonly csv: boolean
}): JsonObject {
  const present = Object.entries(HEADER_COMPONENTS).filter(
    ([name]) =>
      (has.payments || !ofPayments.includes(name)) && (has.csv || name !== 'Content-Disposition'),
  )
  return Object.fromEntries(present)
}
