/** Headers that scripts of other origins may read. */
const EXPOSED = [
  'X-RateLimit-Limit',
  'X-RateLimit-Remaining',
  'X-RateLimit-Reset',
  'X-RateLimit-Tier',
  'X-RateLimit-Source',
  'X-Request-Id',
  'X-Ignored-Parameters',
  'RateLimit-Policy',
  'RateLimit',
  'ETag',
  'Link',
  'Retry-After',
  'WWW-Authenticate',
  'PAYMENT-REQUIRED',
  'PAYMENT-RESPONSE',
  'X-PAYMENT-RESPONSE',
]

/**
 * `*` is for headers of others, such as those of tracing; it never covers `Authorization`, and old
 * browsers know no `*`. Stock x402 clients send `Access-Control-Expose-Headers` as a request header.
 */
const ALLOWED = [
  '*',
  'Authorization',
  'Content-Type',
  'If-None-Match',
  'Last-Event-ID',
  'MCP-Protocol-Version',
  'MCP-Session-Id',
  'PAYMENT-SIGNATURE',
  'X-PAYMENT',
  'X-Wallet-Address',
  'X-Wallet-Message',
  'X-Wallet-Signature',
  'Access-Control-Expose-Headers',
]

/** Preflights can be cached for a day: what they allow never shrinks. */
const PREFLIGHT_SECONDS = 86_400

/**
 * Names and values in turn. Any origin may read, but without credentials, so no cookie of a visitor
 * can be abused (Fetch standard, CORS).
 */
export const CONSTANT_HEADERS: readonly string[] = [
  'access-control-allow-origin',
  '*',
  'access-control-expose-headers',
  EXPOSED.join(', '),
  'x-content-type-options',
  'nosniff',
]

/** `allow` is the methods of the path. */
export function preflightHeaders(allow: string): string[] {
  return [
    'allow',
    allow,
    'access-control-allow-methods',
    allow,
    'access-control-allow-headers',
    ALLOWED.join(', '),
    'access-control-max-age',
    String(PREFLIGHT_SECONDS),
    'cache-control',
    'no-store',
  ]
}
