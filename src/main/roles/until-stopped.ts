import type { Logger } from 'pino'
import type { Clock } from '#lib/time.ts'

/** Long enough for the longest request in flight; an orchestrator kills after 30 s. */
const GRACE_MS = 25_000

/**
 * Ctrl+C reaches this process twice when npm runs it: from the terminal and from npm. Only a signal
 * that comes later than this is a person who does not want to wait.
 */
const SAME_SIGNAL_MS = 1_000

/** An orchestrator's, Ctrl+C, and a terminal that is closed. */
const SIGNALS = ['SIGTERM', 'SIGINT', 'SIGHUP'] as const

/**
 * Runs until a signal to end, then stops in order. Resolves with the exit code: 0 when all was
 * finished in time, 1 when stopping failed or took too long. A later second signal does not wait. When
 * the work itself fails (`ended` rejects), it stops what is left and rejects with that error.
 */
export function untilStopped(
  deps: {
    readonly logger: Pick<Logger, 'info' | 'error'>
    readonly process: NodeJS.Process
    readonly clock: Clock
  },
  stop: () => Promise<void>,
  ended?: Promise<void>,
): Promise<0 | 1> {
  const { promise, resolve, reject } = Promise.withResolvers<0 | 1>()
  let stopping = false
  let askedAtMs = 0
  const onSignal = (signal: NodeJS.Signals) => {
    if (stopping) {
      if (Math.abs(deps.clock() - askedAtMs) > SAME_SIGNAL_MS) resolve(1)
      return
    }
    stopping = true
    askedAtMs = deps.clock()
    deps.logger.info(`${signal}: stopping; a second one ends at once`)
    const late = setTimeout(() => {
      deps.logger.error(`not finished within ${GRACE_MS / 1000} s`)
      resolve(1)
    }, GRACE_MS)
    stop()
      .then(
        () => resolve(0),
        (error: unknown) => {
          deps.logger.error({ err: error }, 'stopping failed')
          resolve(1)
        },
      )
      .finally(() => clearTimeout(late))
  }
  ended?.catch((error: unknown) => {
    if (stopping) return
    stopping = true
    stop().then(
      () => reject(error),
      () => reject(error),
    )
  })
  for (const signal of SIGNALS) deps.process.on(signal, onSignal)
  return promise.finally(() => {
    for (const signal of SIGNALS) deps.process.off(signal, onSignal)
  })
}
