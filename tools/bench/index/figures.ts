import type { ServerCounts } from './serve-chain.ts'

/** One measured run of one competitor on one chain. */
export interface Figures {
  readonly logs: number
  readonly seconds: number
  readonly cpuSeconds: number
  readonly peakMegabytes: number
  readonly counts: ServerCounts
  /** Until the burns of 24 hours, 7 and 30 days are right. */
  readonly usefulSeconds?: number
  /** From the start of a second process on the same data until it answers as before. */
  readonly restartSeconds?: number
}
