import type { ServerCounts } from './server-counts.ts'

/** One measured run of one of the competitors. */
export interface BenchRow {
  readonly who: string
  /** Which of the run's chains it read. */
  readonly chain: string
  readonly logs: number
  readonly seconds: number
  readonly cpuSeconds: number
  readonly peakMegabytes: number
  readonly counts: ServerCounts
  readonly usefulSeconds?: number
  readonly restartSeconds?: number
  readonly diskMegabytes?: number
}

/** Middle figures of several runs of the same competitor on the same chain. */
export interface BenchLine extends Omit<BenchRow, 'counts'> {
  readonly runs: number
  readonly eventsPerSecond: number
  readonly calls: number
  readonly httpRequests: number
  readonly proofRequests: number
  readonly refusals: number
  readonly inFlightMax: number
}
