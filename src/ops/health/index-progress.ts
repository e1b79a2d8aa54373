import type { Logger } from 'pino'
import type { Clock } from '#base/time.ts'
import type { ChainSource, EndpointStatus } from '#chain/chain-source.ts'
import type { Chain } from '#ecosystem/ecosystem.ts'
import type { ChainReport } from '#index/run-indexer.ts'

export interface IndexProgress {
  readonly chain: string
  /** The last block read, and the last to read as far as known. */
  readonly done: number
  readonly total: number
  /** Logs since the start. */
  readonly logs: number
  readonly endpoints: readonly EndpointStatus[]
}

/** A failing node fails at every poll. */
const FAILURE_LOG_MS = 10_000

/** History arrives in hundreds of answers. */
const REPORT_EVERY_MS = 100

interface ChainReportDeps {
  readonly chain: Chain
  readonly source: Pick<ChainSource, 'endpoints'>
  readonly logger: Logger
  readonly clock: Clock
  onProgress(progress: IndexProgress): void
}

export function makeChainReport(deps: ChainReportDeps): ChainReport {
  const { logger, clock, source, onProgress } = deps
  const chain = deps.chain.name
  let [done, total, logs] = [0, 0, 0]
  let isHistory = false
  let reportedAtMs = Number.NEGATIVE_INFINITY
  let loggedAtMs = Number.NEGATIVE_INFINITY
  const report = () => {
    reportedAtMs = clock()
    onProgress({ chain, done, total, logs, endpoints: source.endpoints() })
  }
  return {
    event(event, position) {
      if (event.kind === 'reorg')
        logger.warn({ chain, ancestor: event.ancestor.number }, 'rolled back a reorg')
      if (event.kind === 'blocks') for (const block of event.blocks) logs += block.logs.length
      if (isHistory && event.kind !== 'history') {
        isHistory = false
        logger.info({ chain, logs }, 'history complete')
      }
      done = position?.number ?? 0
      total = event.tip.head.number
      report()
    },
    read(part) {
      isHistory = true
      done = part.number
      total = Math.max(total, done)
      logs += part.logs
      if (Math.abs(clock() - reportedAtMs) >= REPORT_EVERY_MS) report()
    },
    failure(error) {
      if (clock() - loggedAtMs >= FAILURE_LOG_MS) {
        loggedAtMs = clock()
        logger.warn({ chain, reason: error.message }, 'could not read the chain; retrying')
      }
      report()
    },
  }
}
