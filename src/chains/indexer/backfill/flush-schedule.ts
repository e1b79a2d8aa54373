import type { Clock } from '#lib/time.ts'
import type { Store } from '../dataset.ts'

/** At most this much is read again after a kill. */
const EVERY_MS = 10_000

/** Share of time spent storing, which grows with the holders. */
const SHARE = 0.1

/** The last flush starts this many times its duration before the end. */
const LAST_AHEAD = 1.5

export class FlushSchedule {
  readonly #clock: Clock
  readonly #everyMs: number
  readonly #began: { readonly atMs: number; readonly number: number }
  #lastMs: number
  #tookMs = 0
  #isUnderWay = false

  constructor(clock: Clock, options: { readonly after: number; readonly everyMs?: number }) {
    this.#clock = clock
    this.#everyMs = options.everyMs ?? EVERY_MS
    this.#began = { atMs: clock(), number: options.after }
    this.#lastMs = this.#began.atMs
  }

  /**
   * Regularly, and once shortly before the end of a long history; a short one is flushed once. Each
   * flush rewrites most holders.
   */
  isDue(number: number, limit: number): boolean {
    if (this.#isUnderWay) return false
    if (number >= limit) return true
    const sinceMs = this.#since(this.#lastMs)
    const aheadMs = this.#tookMs * LAST_AHEAD
    const isNearEnd = this.#leftMs(number, limit) < aheadMs
    if (isNearEnd && sinceMs >= 2 * aheadMs) return true
    return sinceMs >= Math.max(this.#everyMs, this.#tookMs / SHARE)
  }

  begin(stores: readonly Store[]): readonly Store[] {
    this.#lastMs = this.#clock()
    this.#isUnderWay = true
    return stores.map((store) => async (change) => {
      const startMs = this.#clock()
      await store(change)
      this.#tookMs = this.#since(startMs)
    })
  }

  end(): void {
    this.#isUnderWay = false
  }

  #leftMs(number: number, limit: number): number {
    const read = Math.max(1, number - this.#began.number)
    return ((limit - number) * this.#since(this.#began.atMs)) / read
  }

  #since(ms: number): number {
    return Math.abs(this.#clock() - ms)
  }
}
