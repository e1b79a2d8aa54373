import { REFUSALS, type Refusal } from '#domain/refusal.ts'
import type { Outgoing } from './exchange.ts'

/** A bucket has refilled a token by then. */
const RATE_LIMITED_SECONDS = 1

/** A store or index rarely recovers sooner. */
const UNAVAILABLE_SECONDS = 5

export const PROBLEM_TYPE = 'application/problem+json; charset=utf-8'

/** RFC 9457, plus the contract's two members. */
export function toProblem(
  deps: { readonly publicBaseUrl: string },
  input: { readonly refusal: Refusal; readonly requestId: string },
): Outgoing {
  const { refusal, requestId } = input
  const { status, title } = REFUSALS[refusal.code]
  const body = {
    type: `${deps.publicBaseUrl}/problems/${refusal.code}`,
    title,
    status,
    detail: refusal.message,
    error: refusal.code,
    errorMessage: refusal.message,
    requestId,
    ...(refusal.errors === undefined ? {} : { errors: refusal.errors }),
    ...refusal.members,
  }
  const headers = ['Content-Type', PROBLEM_TYPE, 'Cache-Control', 'no-store']
  if (status === 401) headers.push('WWW-Authenticate', 'Bearer')
  const retryAfter = refusal.retryAfterSeconds ?? defaultRetryAfter(status)
  if (retryAfter !== undefined) headers.push('Retry-After', String(retryAfter))
  for (const [name, value] of Object.entries(refusal.headers ?? {})) headers.push(name, value)
  return { status, headers, body: JSON.stringify(body) }
}

function defaultRetryAfter(status: number): number | undefined {
  if (status === 429) return RATE_LIMITED_SECONDS
  return status === 503 ? UNAVAILABLE_SECONDS : undefined
}
