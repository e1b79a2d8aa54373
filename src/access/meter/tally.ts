import type { Caller, UsageFigures } from '#domain/caller.ts'
import type { MicroUsd } from '#domain/money.ts'
import { bucketAccount, keyAccount } from '#ledger/account.ts'
import type { Spent } from '#ledger/spend.ts'
import { nextMidnight } from '#lib/day.ts'
import type { Admission, AdmissionReceipt, MeterFigures } from './admission.ts'
import type { BatchId } from './meter-store.ts'
import type { Standing } from './standing.ts'
import type { Taken } from './usage-day.ts'

/** Calls that are decided together. */
export interface Counted {
  /** Names the batch among all batches of all processes. */
  readonly id: BatchId
  /** Callers to admit, in the order in which they came. */
  readonly admits: readonly Caller[]
  /** Unix seconds of the UTC day, the same for the whole batch. */
  readonly day: number
  readonly pricePerCall: MicroUsd
}

/** The prepaid account that a caller's paid calls debit. */
export function accountOf(caller: Caller): string {
  return caller.kind === 'keyed' ? keyAccount(caller.publicId) : bucketAccount(caller.bucket)
}

/** The key whose free calls are counted apart from its wallet's, if the caller has one. */
export function countedKeyOf(caller: Caller): string | null {
  return caller.kind === 'keyed' && caller.countsApart === true ? caller.publicId : null
}

/** What the statements of a batch took and found. */
interface Outcome {
  /** By bucket. */
  readonly taken: ReadonlyMap<string, Taken>
  /** By account. */
  readonly spent: ReadonlyMap<string, Spent>
  readonly standing: Standing
}

interface BucketTally {
  used: number
  paid: number
  unitsLeft: number
}

/** Hands out what the statements took, call by call, so that each answer shows its own moment. */
export class Tally {
  /** Paid calls by bucket. */
  readonly paid = new Map<string, number>()
  readonly #batch: Counted
  readonly #outcome: Outcome
  readonly #buckets = new Map<string, BucketTally>()
  /** Paid calls that are left to hand out, by account. */
  readonly #callsLeft = new Map<string, number>()
  /** The newest caller of each bucket: its quota bounds the whole batch and is in every answer. */
  readonly #newest = new Map<string, Caller>()
  #receipts = 0

  constructor(batch: Counted, outcome: Outcome) {
    this.#batch = batch
    this.#outcome = outcome
    for (const [account, { calls }] of outcome.spent) this.#callsLeft.set(account, calls)
    for (const caller of batch.admits) this.#newest.set(caller.bucket, caller)
  }

  admit(caller: Caller): Admission {
    const bucket = this.#bucket(caller)
    if (bucket.unitsLeft > 0) {
      bucket.unitsLeft -= 1
      bucket.used += 1
      return this.#admitted(caller, null)
    }
    const account = accountOf(caller)
    const callsLeft = this.#callsLeft.get(account) ?? 0
    if (callsLeft === 0) return { kind: 'exhausted', figures: this.#usage(caller) }
    this.#callsLeft.set(account, callsLeft - 1)
    bucket.paid += 1
    this.paid.set(caller.bucket, (this.paid.get(caller.bucket) ?? 0) + 1)
    return this.#admitted(caller, account)
  }

  figures(caller: Caller): MeterFigures {
    const account = accountOf(caller)
    const { spent, standing } = this.#outcome
    const prepaidBalance = spent.get(account)?.balance ?? standing.balances.get(account) ?? 0n
    return { ...this.#usage(caller), prepaidBalance }
  }

  #usage(caller: Caller): UsageFigures {
    const { used, paid } = this.#bucket(caller)
    const { tier, dailyQuota } = this.#newest.get(caller.bucket) ?? caller
    return {
      tier,
      dailyQuota,
      requestCount: used + paid,
      overageCount: paid,
      remaining: Math.max(0, dailyQuota - used),
      resetUnix: nextMidnight(this.#batch.day),
    }
  }

  /** Paid by the account, or by a free unit where it is null. */
  #admitted(caller: Caller, account: string | null): Admission {
    const source: AdmissionReceipt['source'] = account === null ? 'quota' : 'prepaid'
    const { id, day } = this.#batch
    this.#receipts += 1
    const name = `${id.meter}:${id.number}:${this.#receipts}`
    const countedKey = source === 'quota' ? countedKeyOf(caller) : null
    const receipt = { id: name, bucket: caller.bucket, day, source, account, countedKey }
    return { kind: 'admitted', source, receipt, figures: this.#usage(caller) }
  }

  #bucket({ bucket }: Caller): BucketTally {
    const existing = this.#buckets.get(bucket)
    if (existing !== undefined) return existing
    const taken = this.#outcome.taken.get(bucket)
    const { used, paid } = taken ?? this.#outcome.standing.days.get(bucket) ?? { used: 0, paid: 0 }
    const unitsLeft = taken?.granted ?? 0
    const tally = { used: used - unitsLeft, paid, unitsLeft }
    this.#buckets.set(bucket, tally)
    return tally
  }
}
