import { type Log, toPlace } from '#base/chain.ts'
import type { Position } from '#chain/chain-event.ts'
import type { Connection } from '#db/engine.ts'
import { UnlistedTokenError } from '#ecosystem/event-arguments.ts'
import type { Origins } from '#ecosystem/event-source.ts'
import type { PriceBook } from './events/fold-events.ts'
import type { Changes } from './feed/write-feed.ts'
import { type Selector, selectLogs } from './select-logs.ts'

export type { Position } from '#chain/chain-event.ts'

export interface Change {
  readonly connection: Connection
  readonly chainId: number
  readonly finalizedNumber: number
  /** In history: what happened before is too old for any window by the time the head is reached. */
  readonly hoursFromUnix?: number
  /** Collects changes for the feed, which follows the head only. */
  readonly changes?: Changes | undefined
  readonly prices: PriceBook
}

export interface Dataset<Fact> {
  readonly name: string
  readonly selectors: readonly Selector[]
  /**
   * Returns nothing if the log does not match after all; throws if it is unreadable. Must be pure. `others` has what
   * else waits of the transaction.
   */
  decode(log: Log, others: readonly Log[]): readonly Fact[]
  /** Whether a log is decoded once all logs of its transaction are read. */
  isWaiting?(log: Log): boolean
  /** Factories and feeds whose contracts this dataset looks up; only `contractsDataset` has it. */
  readonly origins?: Origins
  /** Learns contracts from logs before they are stored; `load` resets to what is stored. */
  learn?(logs: readonly Log[]): void
  /** Makes what it holds in memory that of the register. */
  load?(connection: Connection, chainId: number): Promise<void>
  /** Facts come in chain order. */
  apply(change: Change, facts: readonly Fact[]): Promise<void>
  /** Apply, revert, apply equals apply. */
  revert(change: Change, ancestor: Position): Promise<void>
  /** Drops what only reverts needed. */
  finalize?(change: Change): Promise<void>
  /** History may be dated by the day, and by the hour in the last 36 days. */
  readonly isDatedRoughly?: boolean
}

/** Hides the fact type, so that all datasets fit into one list. */
export interface AnyDataset extends Omit<Dataset<never>, 'decode' | 'isWaiting' | 'apply'> {
  /** Decodes now, stores later. */
  stage(report: ReportLog): Staged
}

export interface LogProblem {
  /** `unlisted`: about a token that the file does not list, which anyone can cause. */
  readonly kind: 'unreadable' | 'unlisted'
  readonly reason: string
}

/** A log that adds no fact. */
type ReportLog = (log: Log, problem: LogProblem) => void

interface Staged {
  take(logs: readonly Log[]): void
  /** Decodes what waited, too. */
  apply(change: Change): Promise<void>
}

export interface Anomaly {
  readonly log: Log
  readonly dataset: string
  readonly problem: LogProblem
}

/** Decoded logs of all datasets, to be stored at once. The anomalies are whole once all are applied. */
export interface StagedLogs {
  readonly staged: readonly Staged[]
  readonly anomalies: readonly Anomaly[]
}

export function stageAll(datasets: readonly AnyDataset[]): StagedLogs {
  const anomalies: Anomaly[] = []
  const staged = datasets.map(({ name: dataset, stage }) =>
    stage((log, problem) => anomalies.push({ log, dataset, problem })),
  )
  return { staged, anomalies }
}

interface PlacedFact<Fact> {
  readonly block: number
  readonly place: number
  readonly fact: Fact
}

export function toAnyDataset<Fact>(dataset: Dataset<Fact>): AnyDataset {
  const { decode, isWaiting, apply, ...rest } = dataset
  const isWanted = selectLogs(dataset.selectors)
  return {
    ...rest,
    stage(report) {
      const facts: PlacedFact<Fact>[] = []
      const later: Log[] = []
      const add = (log: Log, others: readonly Log[]) => {
        try {
          for (const fact of decode(log, others))
            facts.push({ block: log.blockNumber, place: toPlace(log), fact })
        } catch (error) {
          const kind = error instanceof UnlistedTokenError ? 'unlisted' : 'unreadable'
          report(log, { kind, reason: error instanceof Error ? error.message : String(error) })
        }
      }
      return {
        take(logs) {
          for (const log of logs.filter(isWanted)) {
            if (isWaiting?.(log) === true) later.push(log)
            else add(log, [])
          }
        },
        async apply(change) {
          const transactions = Map.groupBy(later.splice(0), nameTransaction)
          for (const logs of transactions.values()) for (const log of logs) add(log, logs)
          // Filters bring theirs one after another.
          const ordered = facts.sort((a, b) => a.block - b.block || a.place - b.place)
          if (ordered.length > 0)
            await apply(
              change,
              ordered.map(({ fact }) => fact),
            )
        },
      }
    },
  }
}

function nameTransaction({ blockHash, txHash }: Log): string {
  return `${blockHash} ${txHash}`
}
