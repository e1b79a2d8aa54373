import type { Caller, UsageFigures } from '#domain/caller.ts'
import type { Admission } from './admission.ts'
import { accountOf } from './tally.ts'
import type { UsageDay } from './usage-day.ts'

/** Callers of a day that are remembered; those beyond are asked about once more. */
const HELD_MAX = 100_000

/**
 * What paid for callers' calls when last decided. It only chooses the quicker way to ask; what is asked
 * is always decided by the store.
 */
export class RecentOutcomes {
  /** Those whose free units of the day were used up. */
  readonly #spentBuckets = new Set<string>()
  /** Those that paid for their last call. */
  readonly #payingAccounts = new Set<string>()
  /** How their buckets stood then; kept where somebody asks for it. */
  readonly #figures: Map<string, UsageFigures> | undefined
  #day = 0

  constructor({ keepsDays }: { readonly keepsDays: boolean }) {
    this.#figures = keepsDays ? new Map() : undefined
  }

  /** How a bucket's day stood when last decided. */
  usageDay(bucket: string, day: number): UsageDay | undefined {
    const figures = day === this.#day ? this.#figures?.get(bucket) : undefined
    if (figures === undefined) return undefined
    const { requestCount, overageCount: paid } = figures
    return { used: requestCount - paid, paid }
  }

  /** A key that is counted apart needs a row more than free units alone. */
  isLikelyFree(caller: Caller, day: number): boolean {
    if (caller.kind === 'keyed' && caller.countsApart === true) return false
    return !this.#isSpent(caller, day)
  }

  /** Whether all calls of the caller are likely to be paid. */
  isLikelyPaid(caller: Caller, day: number): boolean {
    return this.#isSpent(caller, day) && this.#payingAccounts.has(accountOf(caller))
  }

  learn(callers: readonly Caller[], admissions: readonly Admission[], day: number): void {
    if (day !== this.#day || this.#spentBuckets.size > HELD_MAX) this.#spentBuckets.clear()
    if (this.#payingAccounts.size > HELD_MAX) this.#payingAccounts.clear()
    if (day !== this.#day || (this.#figures?.size ?? 0) > HELD_MAX) this.#figures?.clear()
    this.#day = day
    for (const [index, caller] of callers.entries()) {
      const admission = admissions[index]
      if (admission !== undefined) this.#figures?.set(caller.bucket, admission.figures)
      if (admission?.kind !== 'admitted') this.#learnSpent(caller, false)
      else if (admission.source === 'prepaid') this.#learnSpent(caller, true)
      else if (this.#spentBuckets.size > 0) this.#spentBuckets.delete(caller.bucket)
    }
  }

  /** They are asked about with nothing taken for likely. */
  forget(callers: readonly Caller[]): void {
    for (const { bucket } of callers) {
      this.#spentBuckets.delete(bucket)
      this.#figures?.delete(bucket)
    }
  }

  #learnSpent(caller: Caller, pays: boolean): void {
    this.#spentBuckets.add(caller.bucket)
    if (pays) this.#payingAccounts.add(accountOf(caller))
    else this.#payingAccounts.delete(accountOf(caller))
  }

  #isSpent({ bucket }: Caller, day: number): boolean {
    return day === this.#day && this.#spentBuckets.has(bucket)
  }
}
