import type { Clock } from '#lib/time.ts'

/** Steady, yet shows a change. */
const WINDOW_MS = 5_000

export class RateMeter {
  readonly #clock: Clock
  #samples: { readonly atMs: number; readonly count: number }[] = []

  constructor(clock: Clock) {
    this.#clock = clock
  }

  add(count: number): void {
    const now = this.#clock()
    // The clock may be set back.
    this.#samples = this.#samples.filter(({ atMs }) => Math.abs(now - atMs) <= WINDOW_MS)
    this.#samples.push({ atMs: now, count })
  }

  perSecond(): number {
    const [first] = this.#samples
    if (first === undefined) return 0
    const seconds = Math.max(0.1, (this.#clock() - first.atMs) / 1_000)
    return this.#samples.reduce((sum, { count }) => sum + count, 0) / seconds
  }
}
