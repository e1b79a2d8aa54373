import type { Logger } from 'pino'

/** Long enough for the longest request in flight; an orchestrator kills after 30 s. */
const GRACE_MS = 25_000

/**
 * Runs until SIGTERM or SIGINT, then stops in order. Resolves with the exit code: 0 when all was
 * finished in time, 1 when stopping failed or took too long. A second signal does not wait. When
 * the work itself fails (`ended` rejects), it stops what is left and rejects with that error.
 */
export function untilStopped(
  deps: { readonly logger: Pick<Logger, 'info' | 'error'>; readonly process: NodeJS.Process },
  stop: () => Promise<void>,
  ended?: Promise<void>,
): Promise<0 | 1> {
  const { promise, resolve, reject } = Promise.withResolvers<0 | 1>()
  let stopping = false
  const onSignal = (signal: NodeJS.Signals) => {
    if (stopping) return resolve(1)
    stopping = true
    deps.logger.info(`${signal}: finishing what is in flight`)
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
  deps.process.on('SIGTERM', onSignal)
  deps.process.on('SIGINT', onSignal)
  return promise.finally(() => {
    deps.process.off('SIGTERM', onSignal)
    deps.process.off('SIGINT', onSignal)
  })
}
