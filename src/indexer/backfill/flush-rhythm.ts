import type { Clock } from '#lib/time.ts'
import type { Store } from '../dataset.ts'

/** What a kill costs at most is read again at full speed. */
const EVERY_MS = 10_000

/** Storing what is folded may take this share of the time, beside the reading: it grows with the holders. */
const SHARE = 0.1

/** The last time but one is begun so much earlier than the end as it takes, so that little is left for then. */
const LAST_AHEAD = 1.5

/** When what is folded of a history is stored while it is read. */
export class FlushRhythm {
  readonly #clock: Clock
  readonly #everyMs: number
  /** When and after which block the reading began. */
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
   * Now and then, so that a kill costs little; and of a history that takes long once more shortly before
   * its end. A short one is stored once, at its end: each time more would write most holders again.
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

  /** Notes that it begins; gives the same stores, which note how long they take. */
  begin(stores: readonly Store[]): readonly Store[] {
    this.#lastMs = this.#clock()
    this.#isUnderWay = true
    return stores.map((store) => async (change) => {
      const startMs = this.#clock()
      await store(change)
      this.#tookMs = this.#since(startMs)
    })
  }

  /** It is stored. */
  end(): void {
    this.#isUnderWay = false
  }

  /** How long the rest takes at the speed so far. */
  #leftMs(number: number, limit: number): number {
    const read = Math.max(1, number - this.#began.number)
    return ((limit - number) * this.#since(this.#began.atMs)) / read
  }

  #since(ms: number): number {
    return Math.abs(this.#clock() - ms)
  }
}
