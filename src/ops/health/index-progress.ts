import type { Logger } from 'pino'
import type { Clock } from '#base/time.ts'
import type { ChainSource, EndpointStatus } from '#chain/chain-source.ts'
import type { Chain } from '#ecosystem/ecosystem.ts'
import type { ChainReport } from '#index/run-indexer.ts'

export interface IndexProgress {
  readonly chain: string
  readonly blockNumber: number
  readonly headNumber: number
  readonly finalizedNumber: number
  readonly history: { readonly number: number; readonly to: number } | null
  /** Logs since the start. */
  readonly logs: number
  readonly problem: string | null
  readonly endpoints: readonly EndpointStatus[]
}

/** A failing node fails at every poll. */
const FAILURE_LOG_MS = 10_000

const REPORT_EVERY_MS = 100

interface ChainReportDeps {
  readonly chain: Chain
  readonly source: Pick<ChainSource, 'endpoints'>
  readonly logger: Logger
  readonly clock: Clock
  onProgress(progress: IndexProgress): void
}

export function makeChainReport(deps: ChainReportDeps): ChainReport {
  const { chain, logger, clock, source } = deps
  let progress: IndexProgress = {
    chain: chain.name,
    blockNumber: 0,
    headNumber: 0,
    finalizedNumber: 0,
    history: null,
    logs: 0,
    problem: null,
    endpoints: [],
  }
  const report = (news: Partial<IndexProgress>, logs = 0) => {
    progress = { ...progress, ...news, logs: progress.logs + logs }
    // History arrives in hundreds of answers.
    if (news.history && Math.abs(clock() - reportedAtMs) < REPORT_EVERY_MS) return
    reportedAtMs = clock()
    progress = { ...progress, endpoints: source.endpoints() }
    deps.onProgress(progress)
  }
  let reportedAtMs = Number.NEGATIVE_INFINITY
  let loggedAtMs = Number.NEGATIVE_INFINITY
  return {
    event(event, position) {
      if (event.kind === 'reorg')
        logger.warn({ chain: chain.name, ancestor: event.ancestor.number }, 'rolled back a reorg')
      const logs =
        event.kind === 'blocks'
          ? event.blocks.reduce((sum, block) => sum + block.logs.length, 0)
          : 0
      const { history } = progress
      const isDone = event.kind !== 'history'
      if (isDone && history !== null)
        logger.info({ chain: chain.name, logs: progress.logs }, 'history complete')
      const reached = {
        history: isDone ? null : history,
        blockNumber: position?.number ?? 0,
        headNumber: event.tip.head.number,
        finalizedNumber: event.tip.finalized,
        problem: null,
      }
      report(reached, logs)
    },
    read({ number, logs }) {
      const to = Math.max(number, progress.blockNumber, progress.finalizedNumber)
      report({ history: { number, to } }, logs)
    },
    failure(error) {
      if (clock() - loggedAtMs >= FAILURE_LOG_MS) {
        loggedAtMs = clock()
        logger.warn(
          { chain: chain.name, reason: error.message },
          'could not read the chain; retrying',
        )
      }
      report({ problem: error.message })
    },
  }
}

export function toBar(progress: IndexProgress) {
  const { history, blockNumber, headNumber, logs, endpoints } = progress
  const inUse =
    endpoints.find((each) => each.inFlight > 0) ?? endpoints.find((each) => each.preferred)
  const sum = (pick: (each: EndpointStatus) => number) =>
    endpoints.reduce((total, each) => total + pick(each), 0)
  const words = [
    `${logs.toLocaleString('en')} logs`,
    `${sum((each) => each.requests)} requests`,
    `${sum((each) => each.refused)} refused`,
    ...(inUse === undefined ? [] : [inUse.host]),
  ]
  return {
    task: `indexing ${progress.chain}`,
    done: history?.number ?? blockNumber,
    total: history?.to ?? headNumber,
    detail: words.join(', '),
  }
}
