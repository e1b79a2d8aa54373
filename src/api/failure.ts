import { ConnectionCut, MeteringUnavailable } from '#accounts/metering/meter/admission.ts'
import { type Refusal, refuse } from '#domain/refusal.ts'

export interface FailureDeps {
  report(error: unknown, requestId: string): void
  /** What a failure of infrastructure means to a caller; undefined for a bug. */
  outage(error: unknown): Refusal | undefined
}

/** Nobody reads it. */
export const CUT = refuse('invalid_parameter', 'the client closed the connection')

/** What a failure of a call means to the caller. */
export function refuseFailure(deps: FailureDeps, error: unknown, requestId: string): Refusal {
  if (error instanceof ConnectionCut) return CUT
  if (!(error instanceof MeteringUnavailable)) return reportFailure(deps, error, requestId)
  deps.report(error, requestId)
  return refuse('metering_unavailable', 'calls cannot be counted right now; try again soon')
}

/** What a failure of routes and pages means to a caller. */
export function reportFailure(deps: FailureDeps, error: unknown, requestId: string): Refusal {
  deps.report(error, requestId)
  return (
    deps.outage(error) ??
    refuse('internal_error', 'internal error; quote the X-Request-Id to support')
  )
}
