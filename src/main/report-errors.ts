import type { Logger } from 'pino'
import type { Clock } from '#lib/time.ts'

/** Every request fails while the store is down. */
const LINES_PER_WINDOW = 20
const WINDOW_MS = 10_000

/** Then logs how many were left out. */
export function reportErrors(deps: {
  readonly logger: Pick<Logger, 'error' | 'warn'>
  readonly clock: Clock
}): (error: unknown, requestId: string) => void {
  let windowStart = 0
  let lines = 0
  return (error, requestId) => {
    const now = deps.clock()
    if (now - windowStart >= WINDOW_MS) {
      const left = lines - LINES_PER_WINDOW
      if (left > 0) deps.logger.warn({ left }, 'request errors over the log limit were not logged')
      windowStart = now
      lines = 0
    }
    lines += 1
    if (lines <= LINES_PER_WINDOW) deps.logger.error({ err: error, requestId }, 'a request failed')
  }
}
