import type { BlockHeader, Log } from '#domain/chain.ts'
import type { Staged, Store } from './dataset.ts'

/** What a stretch of final history brought, ready to be stored in one transaction. */
export interface Segment {
  readonly from: number
  /** The block it ends with. */
  readonly end: BlockHeader
  readonly logs: number
  readonly staged: readonly Staged[]
  /** Of what is staged. */
  readonly anomalies: readonly Anomaly[]
  /** Of what is folded in memory; stored together with it. */
  readonly foldedAnomalies: readonly Anomaly[]
  /** What is folded in memory up to the segment's end, where it is due to be stored. */
  readonly drained: readonly Store[] | undefined
}

/** Why a log was not understood. */
export interface Anomaly {
  readonly log: Log
  readonly dataset: string
  readonly reason: string
}
