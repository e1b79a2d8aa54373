import { ConnectionCut, MeteringUnavailable } from '#accounts/metering/meter/decide-batch.ts'
import { type Context, oncePerContext } from '#context.ts'
import { type Refusal, refuse } from '#domain/refusal.ts'
import { StoreError } from '#store/engine.ts'

/** Every request fails while the store is down. */
const LINES_PER_WINDOW = 20
const WINDOW_MS = 10_000

/** Nobody reads it. */
export const CUT = refuse('invalid_parameter', 'the client closed the connection')

/** Logs what went wrong with a request; says how many lines were left out. */
export function reportFailure(ctx: Context, err: unknown, requestId: string): void {
  const { clock, logger } = ctx
  const window = windowOf(ctx)
  const now = clock()
  if (now - window.startMs >= WINDOW_MS) {
    const left = window.lines - LINES_PER_WINDOW
    if (left > 0) logger.warn({ left }, 'request errors over the log limit were not logged')
    window.startMs = now
    window.lines = 0
  }
  window.lines += 1
  if (window.lines <= LINES_PER_WINDOW) logger.error({ err, requestId }, 'a request failed')
}

const windowOf = oncePerContext(() => ({ startMs: 0, lines: 0 }))

/** What a failure means to the caller, after it is logged. Any but that of a store is a bug. */
export function refuseFailure(ctx: Context, error: unknown, requestId: string): Refusal {
  if (error instanceof ConnectionCut) return CUT
  reportFailure(ctx, error, requestId)
  if (error instanceof MeteringUnavailable)
    return refuse('metering_unavailable', 'calls cannot be counted right now; try again soon')
  if (error instanceof StoreError)
    return refuse('data_not_ready', 'the data cannot be read right now; retry later')
  return refuse('internal_error', 'internal error; quote the X-Request-Id to support')
}
