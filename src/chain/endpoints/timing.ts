import { sleep } from '#lib/sleep.ts'
import type { Clock } from '#lib/time.ts'

/** Time and chance of the endpoint layer, so that a test can move them. */
export interface Timing {
  /** Only differences count: it goes on evenly, whatever happens to the time of day. */
  readonly clock: Clock
  /** From 0 up to 1. */
  random(): number
  sleep(ms: number, signal?: AbortSignal): Promise<void>
}

export const systemTiming: Timing = {
  clock: () => performance.now(),
  random: Math.random,
  sleep,
}
