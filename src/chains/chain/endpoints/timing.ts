import { sleep } from '#lib/async.ts'
import type { Clock } from '#lib/time.ts'

export interface Timing {
  /** Monotonic. */
  readonly clock: Clock
  random(): number
  sleep(ms: number, signal?: AbortSignal): Promise<void>
}

export const systemTiming: Timing = {
  clock: () => performance.now(),
  random: Math.random,
  sleep,
}
