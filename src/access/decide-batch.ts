import type { Caller, UsageFigures } from '#domain/caller.ts'
import type { MicroUsd } from '#domain/money.ts'
import { bucketAccount, keyAccount } from '#ledger/account.ts'
import { readBalances } from '#ledger/balance.ts'
import { type Spent, spendCalls } from '#ledger/spend.ts'
import { nextMidnight } from '#lib/day.ts'
import type { Connection } from '#store/engine.ts'
import type { Admission, MeterFigures } from './admission.ts'
import { addKeyUnits } from './key-day.ts'
import { type BatchId, recordBatch } from './meter-store.ts'
import { addPaid, readUsageDays, type Taken, takeUnits, type Wanted } from './usage-day.ts'

export interface Batch {
  /** Names the batch among all batches of all processes. */
  readonly id: BatchId
  /** Callers to admit, in the order in which they came. */
  readonly admits: readonly Caller[]
  /** Callers who only ask how they stand. */
  readonly figures: readonly Caller[]
  /** Unix seconds of the UTC day, the same for the whole batch. */
  readonly day: number
  readonly pricePerCall: MicroUsd
}

export interface Decisions {
  readonly admissions: readonly Admission[]
  readonly figures: readonly MeterFigures[]
}

/** The prepaid account that a caller's paid calls debit. */
export function accountOf(caller: Caller): string {
  return caller.kind === 'keyed' ? keyAccount(caller.publicId) : bucketAccount(caller.bucket)
}

function countedKeyOf(caller: Caller): string | null {
  return caller.kind === 'keyed' && caller.countsApart === true ? caller.publicId : null
}

/** Decides a batch inside one transaction: free units first, then prepaid calls, in arrival order. */
export async function decideBatch(connection: Connection, batch: Batch): Promise<Decisions> {
  const { admits, day, pricePerCall } = batch
  const [taken] = await Promise.all([
    admits.length === 0 ? new Map<string, Taken>() : takeUnits(connection, day, wantedOf(admits)),
    admits.length === 0 ? undefined : recordBatch(connection, batch),
  ])
  const refused = beyondQuota(admits, taken)
  // Who is given a free unit is told of no balance.
  const accounts = [...refused, ...batch.figures].map(accountOf)
  const balances = await readBalances(connection, [...new Set(accounts)])
  const others = batch.figures.map((each) => each.bucket).filter((bucket) => !taken.has(bucket))
  const known = await readUsageDays(connection, day, [...new Set(others)])
  const calls = payable(refused, balances, pricePerCall)
  const spent = await spendCalls(connection, { calls, pricePerCall, day })
  const tally = new Tally(batch, { taken, balances, spent, known })
  const admissions = admits.map((caller) => tally.admit(caller))
  if (tally.paid.size > 0) await addPaid(connection, day, tally.paid)
  if (tally.keyUnits.size > 0) await addKeyUnits(connection, day, tally.keyUnits)
  return { admissions, figures: batch.figures.map((caller) => tally.figures(caller)) }
}

/** The newest caller's quota bounds the bucket: a tier that changed is the newest word on it. */
function wantedOf(admits: readonly Caller[]): Map<string, Wanted> {
  const wanted = new Map<string, Wanted>()
  for (const { bucket, dailyQuota } of admits)
    wanted.set(bucket, { units: (wanted.get(bucket)?.units ?? 0) + 1, quota: dailyQuota })
  return wanted
}

/** Callers for whom no free unit was left, in arrival order. */
function beyondQuota(admits: readonly Caller[], taken: ReadonlyMap<string, Taken>): Caller[] {
  const seen = new Map<string, number>()
  return admits.filter(({ bucket }) => {
    const before = seen.get(bucket) ?? 0
    seen.set(bucket, before + 1)
    return before >= (taken.get(bucket)?.granted ?? 0)
  })
}

/** Calls by account, of those accounts that hold the price of a call; the debit itself decides. */
function payable(
  callers: readonly Caller[],
  balances: ReadonlyMap<string, MicroUsd>,
  pricePerCall: MicroUsd,
): Map<string, number> {
  const calls = new Map<string, number>()
  for (const account of callers.map(accountOf))
    if ((balances.get(account) ?? 0n) >= pricePerCall)
      calls.set(account, (calls.get(account) ?? 0) + 1)
  return calls
}

interface Outcome {
  readonly taken: ReadonlyMap<string, Taken>
  readonly balances: ReadonlyMap<string, MicroUsd>
  readonly spent: ReadonlyMap<string, Spent>
  readonly known: ReadonlyMap<string, { readonly used: number; readonly paid: number }>
}

interface BucketTally {
  used: number
  paid: number
  unitsLeft: number
}

interface AccountTally {
  balance: MicroUsd
  callsLeft: number
}

/** Hands out what the statements took, call by call, so that each answer shows its own moment. */
class Tally {
  /** Paid calls by bucket. */
  readonly paid = new Map<string, number>()
  /** Free units by key, of keys that are counted apart. */
  readonly keyUnits = new Map<string, number>()
  readonly #batch: Batch
  readonly #outcome: Outcome
  readonly #buckets = new Map<string, BucketTally>()
  readonly #accounts = new Map<string, AccountTally>()
  #receipts = 0

  constructor(batch: Batch, outcome: Outcome) {
    this.#batch = batch
    this.#outcome = outcome
  }

  admit(caller: Caller): Admission {
    const bucket = this.#bucket(caller)
    if (bucket.unitsLeft > 0) {
      bucket.unitsLeft -= 1
      bucket.used += 1
      const key = countedKeyOf(caller)
      if (key !== null) this.keyUnits.set(key, (this.keyUnits.get(key) ?? 0) + 1)
      return this.#admitted(caller, 'quota')
    }
    const account = this.#account(caller)
    if (account.callsLeft === 0) return { kind: 'exhausted', figures: this.#usage(caller) }
    account.callsLeft -= 1
    account.balance -= this.#batch.pricePerCall
    bucket.paid += 1
    this.paid.set(caller.bucket, (this.paid.get(caller.bucket) ?? 0) + 1)
    return this.#admitted(caller, 'prepaid')
  }

  figures(caller: Caller): MeterFigures {
    return { ...this.#usage(caller), prepaidBalance: this.#account(caller).balance }
  }

  #usage(caller: Caller): UsageFigures {
    const { used, paid } = this.#bucket(caller)
    return {
      tier: caller.tier,
      dailyQuota: caller.dailyQuota,
      requestCount: used + paid,
      overageCount: paid,
      remaining: Math.max(0, caller.dailyQuota - used),
      resetUnix: nextMidnight(this.#batch.day),
    }
  }

  #admitted(caller: Caller, source: 'quota' | 'prepaid'): Admission {
    const account = source === 'prepaid' ? accountOf(caller) : null
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
    const tally = { used: known.used - unitsLeft, paid: known.paid, unitsLeft }
    this.#buckets.set(bucket, tally)
    return tally
  }

  #account(caller: Caller): AccountTally {
    const account = accountOf(caller)
    const existing = this.#accounts.get(account)
    if (existing !== undefined) return existing
    const spent = this.#outcome.spent.get(account)
    const callsLeft = spent?.calls ?? 0
    const after = spent?.balance ?? this.#outcome.balances.get(account) ?? 0n
    const tally = { balance: after + BigInt(callsLeft) * this.#batch.pricePerCall, callsLeft }
    this.#accounts.set(account, tally)
    return tally
  }
}
