import { ConnectionCut, MeteringUnavailable } from '#accounts/metering/meter/admission.ts'
import type { Caller, RateLimitState } from '#domain/caller.ts'
import { type Refusal, refuse } from '#domain/refusal.ts'
import type { Clock } from '#lib/time.ts'
import { nothingLeft } from './rate-limit-state.ts'

export interface FailureDeps {
  readonly clock: Clock
  report(error: unknown, requestId: string): void
  /** What a failure of infrastructure means to a caller; undefined for a bug. */
  outage(error: unknown): Refusal | undefined
}

/** Nobody reads it. */
export const CUT = refuse('invalid_parameter', 'the client closed the connection')

interface Failing {
  readonly requestId: string
  readonly caller: Caller
  rateLimit: RateLimitState | undefined
}

/** Answers without the rate-limit state too, since its store may be down. */
export function failure(deps: FailureDeps, call: Failing, error: unknown): Refusal {
  if (error instanceof ConnectionCut) return CUT
  if (!(error instanceof MeteringUnavailable)) return reportFailure(deps, error, call.requestId)
  deps.report(error, call.requestId)
  call.rateLimit = nothingLeft(call.caller, deps.clock())
  return refuse('metering_unavailable', 'calls cannot be counted right now; try again soon')
}

/** What a failure of routes and pages means to a caller. */
export function reportFailure(
  deps: Pick<FailureDeps, 'report' | 'outage'>,
  error: unknown,
  requestId: string,
): Refusal {
  deps.report(error, requestId)
  return (
    deps.outage(error) ??
    refuse('internal_error', 'internal error; quote the X-Request-Id to support')
  )
}
