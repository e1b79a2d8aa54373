import type { Caller } from '#domain/caller.ts'
import type { Admission } from './admission.ts'

/** Callers of a day that are remembered; those beyond are asked about once more. */
const HELD_MAX = 100_000

/**
 * Whose free units of the day were used up when last decided. It only chooses the quicker way to
 * ask; what is asked is always decided by the store.
 */
export class SpentQuotas {
  readonly #buckets = new Set<string>()
  #day = 0

  /** A key that is counted apart needs a row more than free units alone. */
  isLikelyFree(caller: Caller, day: number): boolean {
    if (caller.kind === 'keyed' && caller.countsApart === true) return false
    return day !== this.#day || !this.#buckets.has(caller.bucket)
  }

  learn(callers: readonly Caller[], admissions: readonly Admission[], day: number): void {
    if (day !== this.#day || this.#buckets.size > HELD_MAX) this.#buckets.clear()
    this.#day = day
    for (const [index, { bucket }] of callers.entries()) {
      const admission = admissions[index]
      const isFree = admission?.kind === 'admitted' && admission.source === 'quota'
      if (isFree) this.#buckets.delete(bucket)
      else this.#buckets.add(bucket)
    }
  }
}
