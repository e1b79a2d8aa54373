import type { CommandContext } from './command-context.ts'

/** Enough for requests in flight, and below an orchestrator's usual 30 s. */
const GRACE_MS = 25_000

/** Under npm, Ctrl+C arrives twice: from the terminal and from npm. */
const SAME_SIGNAL_MS = 1_000

const SIGNALS = ['SIGTERM', 'SIGINT', 'SIGHUP'] as const

/**
 * Stops everything on a signal; resolves to 0 if that ends in time, else to 1. A second signal exits at once. If
 * `ended` rejects, stops the rest and rejects with that error.
 */
export function untilStopped(
  deps: Pick<CommandContext, 'logger' | 'process' | 'clock' | 'config'>,
  stop: () => Promise<void>,
  ended?: Promise<void>,
): Promise<0 | 1> {
  const { promise, resolve, reject } = Promise.withResolvers<0 | 1>()
  const graceMs = GRACE_MS + deps.config.drainSeconds * 1_000
  let stopping = false
  let askedAtMs = 0
  const onSignal = (signal: NodeJS.Signals) => {
    if (stopping) {
      if (Math.abs(deps.clock() - askedAtMs) > SAME_SIGNAL_MS) resolve(1)
      return
    }
    stopping = true
    askedAtMs = deps.clock()
    deps.logger.info(`${signal}: stopping; send it again to exit at once`)
    const late = setTimeout(() => {
      deps.logger.error(`still not stopped after ${graceMs / 1000} s; exiting`)
      resolve(1)
    }, graceMs)
    const failed = (err: unknown) => {
      deps.logger.error({ err }, 'stopping failed')
      resolve(1)
    }
    stop()
      .then(() => resolve(0), failed)
      .finally(() => clearTimeout(late))
  }
  ended?.catch((error: unknown) => {
    if (stopping) return
    stopping = true
    const end = () => reject(error)
    stop().then(end, end)
  })
  for (const signal of SIGNALS) deps.process.on(signal, onSignal)
  return promise.finally(() => {
    for (const signal of SIGNALS) deps.process.off(signal, onSignal)
  })
}
