import type { PaymentRequired, Problem, ProblemCode } from './generated.ts'

/** An answer other than 304 and 2xx with JSON. Its page is `problem.type`. */
export class SextonError extends Error {
  override readonly name: string = 'SextonError'
  readonly status: number
  /** Never changes once released; a newer server may have codes that this client does not know. */
  readonly code: ProblemCode | (string & {})
  /** RFC 9457. Undefined for 402, and where something in between answered. */
  readonly problem: Problem | undefined
  /** Seconds, from `Retry-After`. */
  readonly retryAfterSeconds: number | undefined
  readonly requestId: string | undefined

  constructor(response: Response, body: unknown, text: string) {
    const said = isObject(body) ? body : {}
    super(typeof said.errorMessage === 'string' ? said.errorMessage : whatCame(response, text))
    this.status = response.status
    this.code = typeof said.error === 'string' ? said.error : `http_${response.status}`
    this.problem = typeof said.type === 'string' ? (said as unknown as Problem) : undefined
    this.retryAfterSeconds = secondsOf(response.headers)
    this.requestId = response.headers.get('x-request-id') ?? undefined
  }
}

/** 402: the quota is used up and no balance is left. */
export class PaymentRequiredError extends SextonError {
  override readonly name = 'PaymentRequiredError'
  readonly offer: PaymentRequired
  /** For x402 clients of version 2: base64 of JSON. */
  readonly paymentRequired: string | undefined

  constructor(response: Response, offer: PaymentRequired, text: string) {
    super(response, offer, text)
    this.offer = offer
    this.paymentRequired = response.headers.get('payment-required') ?? undefined
  }
}

export function errorOf(response: Response, body: unknown, text: string): SextonError {
  return response.status === 402 && isObject(body) && Array.isArray(body.accepts)
    ? new PaymentRequiredError(response, body as unknown as PaymentRequired, text)
    : new SextonError(response, body, text)
}

/** Of an answer that is not the API's. */
function whatCame({ status, type, headers }: Response, text: string): string {
  if (type === 'opaqueredirect' || (status >= 300 && status < 400))
    return 'the server redirects, which is not followed; check baseUrl'
  const kind = headers.get('content-type') ?? 'no content type'
  const what = text === '' ? 'an empty body' : `${kind}: ${text.slice(0, 80)}`
  return `the server answered ${status} with ${what}`
}

/** Seconds or an HTTP-date (RFC 9110, 10.2.3), which is compared with the server's own clock. */
function secondsOf(headers: Headers): number | undefined {
  const text = headers.get('retry-after') ?? ''
  if (/^\d+(\.\d+)?$/.test(text)) return Number(text)
  const nowMs = Date.parse(headers.get('date') ?? '') || Date.now()
  const ms = Date.parse(text) - nowMs
  return Number.isNaN(ms) ? undefined : Math.max(0, ms / 1_000)
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null
}
