import type { Logger } from 'pino'
import type { Chain } from '#ecosystem/ecosystem.ts'
import type { ChainReport } from '#indexer/run-chain.ts'
import type { Clock } from '#lib/clock.ts'

/** Where the index of one chain stands; plain data, so that it can cross threads. */
export interface IndexProgress {
  readonly chain: string
  readonly blockNumber: number
  readonly headNumber: number
  readonly finalizedNumber: number
  /** Logs stored since the start of the process. */
  readonly logs: number
  readonly reorgs: number
  readonly failures: number
  /** What the last failed poll said; null after one that worked. */
  readonly problem: string | null
}

/** A failing node fails at every poll; one line per this time says it as well. */
const FAILURE_LOG_MS = 10_000

/** Counts what a chain's loop reports, logs what an operator must see, and passes the figures on. */
export function makeChainReport(deps: {
  readonly chain: Chain
  readonly logger: Logger
  readonly clock: Clock
  onProgress(progress: IndexProgress): void
}): ChainReport {
  const { chain, logger, clock, onProgress } = deps
  let progress: IndexProgress = {
    chain: chain.name,
    blockNumber: 0,
    headNumber: 0,
    finalizedNumber: 0,
    logs: 0,
    reorgs: 0,
    failures: 0,
    problem: null,
  }
  let loggedAtMs = Number.NEGATIVE_INFINITY
  return {
    event(event, position) {
      if (event.kind === 'reorg')
        logger.warn({ chain: chain.name, ancestor: event.ancestor.number }, 'a reorg was undone')
      progress = {
        ...progress,
        blockNumber: position?.number ?? 0,
        headNumber: event.tip.head.number,
        finalizedNumber: event.tip.finalized,
        logs: progress.logs + logsOf(event),
        reorgs: progress.reorgs + Number(event.kind === 'reorg'),
        problem: null,
      }
      onProgress(progress)
    },
    failure(error) {
      progress = { ...progress, failures: progress.failures + 1, problem: error.message }
      if (clock() - loggedAtMs >= FAILURE_LOG_MS) {
        loggedAtMs = clock()
        logger.warn({ chain: chain.name, reason: error.message }, 'a chain could not be read')
      }
      onProgress(progress)
    },
  }
}

function logsOf(event: Parameters<ChainReport['event']>[0]): number {
  if (event.kind === 'history') return event.logs.length
  if (event.kind !== 'blocks') return 0
  return event.blocks.reduce((sum, block) => sum + block.logs.length, 0)
}
