import type { BlockHeader, Log } from '#domain/chain.ts'
import type { LogProblem, Staged, Store } from './dataset.ts'

export interface Segment {
  readonly from: number
  readonly end: BlockHeader
  readonly logs: number
  readonly staged: readonly Staged[]
  readonly anomalies: readonly Anomaly[]
  /** Anomalies that are stored together with the folds. */
  readonly foldedAnomalies: readonly Anomaly[]
  /** The folds up to the segment's end, if due. */
  readonly drained: readonly Store[] | undefined
}

export interface Anomaly {
  readonly log: Log
  readonly dataset: string
  readonly problem: LogProblem
}
