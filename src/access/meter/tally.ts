import type { Caller, UsageFigures } from '#domain/caller.ts'
import type { MicroUsd } from '#domain/money.ts'
import { bucketAccount, keyAccount } from '#ledger/account.ts'
import { nextMidnight } from '#lib/day.ts'
import type { Admission, AdmissionReceipt, MeterFigures } from './admission.ts'
import type { BatchId } from './meter-store.ts'
import type { Taken } from './usage-day.ts'

/** Calls that are decided together. */
export interface Tallied {
  /** Names the batch among all batches of all processes. */
  readonly id: BatchId
  /** Callers to admit, in the order in which they came. */
  readonly admits: readonly Caller[]
  /** Unix seconds of the UTC day, the same for the whole batch. */
  readonly day: number
  readonly pricePerCall: MicroUsd
}

const accounts = new WeakMap<Caller, string>()

/** The prepaid account that a caller's paid calls debit; its name is put together once for each caller. */
export function accountOf(caller: Caller): string {
  const known = accounts.get(caller)
  if (known !== undefined) return known
  const account =
    caller.kind === 'keyed' ? keyAccount(caller.publicId) : bucketAccount(caller.bucket)
  accounts.set(caller, account)
  return account
}

function countedKeyOf(caller: Caller): string | null {
  return caller.kind === 'keyed' && caller.countsApart === true ? caller.publicId : null
}

interface Outcome {
  readonly taken: ReadonlyMap<string, Taken>
  /** Calls that were paid, by account. */
  readonly spent: ReadonlyMap<string, number>
  /** As they stand after the batch. */
  readonly balances: ReadonlyMap<string, MicroUsd>
  readonly known: ReadonlyMap<string, { readonly used: number; readonly paid: number }>
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
  /** Free units by key, of keys that are counted apart. */
  readonly keyUnits = new Map<string, number>()
  readonly #batch: Tallied
  readonly #outcome: Outcome
  readonly #buckets = new Map<string, BucketTally>()
  /** Paid calls that are left to hand out, by account. */
  readonly #callsLeft: Map<string, number>
  /** The last word on each bucket, which bounds the whole batch and is what every answer shows. */
  readonly #newest = new Map<string, Caller>()
  #receipts = 0

  constructor(batch: Tallied, outcome: Outcome) {
    this.#batch = batch
    this.#outcome = outcome
    this.#callsLeft = new Map(outcome.spent)
    for (const caller of batch.admits) this.#newest.set(caller.bucket, caller)
  }

  admit(caller: Caller): Admission {
    const bucket = this.#bucket(caller)
    if (bucket.unitsLeft > 0) {
      bucket.unitsLeft -= 1
      bucket.used += 1
      const key = countedKeyOf(caller)
      if (key !== null) this.keyUnits.set(key, (this.keyUnits.get(key) ?? 0) + 1)
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
    const prepaidBalance = this.#outcome.balances.get(accountOf(caller)) ?? 0n
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

  /** By the account that paid; by a free unit without one. */
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
    const known = taken ?? this.#outcome.known.get(bucket) ?? { used: 0, paid: 0 }
    const unitsLeft = taken?.granted ?? 0
    const paid = known.paid - (taken?.presumed ?? 0)
    const tally = { used: known.used - unitsLeft, paid, unitsLeft }
    this.#buckets.set(bucket, tally)
    return tally
  }
}
