import { type CapLeft, lockCaps, readCaps } from '#accounts/keys/spending-caps.ts'
import { bucketAccount, keyAccount } from '#accounts/ledger/account.ts'
import { type Spent, spendCalls } from '#accounts/ledger/spend.ts'
import type { Caller, RateLimitState } from '#domain/caller.ts'
import type { MicroUsd } from '#domain/money.ts'
import { nextMidnight } from '#lib/time.ts'
import type { Connection } from '#store/engine.ts'
import type { Admission, MeterState, Refused } from './admission.ts'
import {
  addKeyUnits,
  addPaid,
  readStanding,
  type Standing,
  type Taken,
  takeUnits,
  wantedOf,
} from './meter-statements.ts'

export interface Batch {
  readonly admits: readonly Caller[]
  readonly readers: readonly Caller[]
  /** Unix seconds, for the whole batch. */
  readonly day: number
  readonly pricePerCall: MicroUsd
}

export interface Decisions {
  readonly admissions: readonly Admission[]
  readonly rateLimits: readonly MeterState[]
}

const NOTHING_TAKEN: ReadonlyMap<string, Taken> = new Map()

const NOTHING_ASKED: Standing = { days: new Map(), balances: new Map() }

const NO_CAPS: ReadonlyMap<string, CapLeft> = new Map()

const NOTHING_SPENT: ReadonlyMap<string, Spent> = new Map()

/**
 * Decides calls in arrival order, in one transaction: free units, then prepaid calls. It takes at
 * most three statements without payment and six with, and for capped keys a lock each and one
 * sum. Locks usage_days, key_days, keys, balances, spend_days in that order.
 */
export async function decideBatch(connection: Connection, batch: Batch): Promise<Decisions> {
  const { admits, readers, day } = batch
  const taken =
    admits.length === 0 ? NOTHING_TAKEN : await takeUnits(connection, day, wantedOf(admits))
  const { keyUnits, beyondQuota } = shareUnits(admits, taken)
  const asked = [...beyondQuota, ...readers]
  const standing =
    asked.length === 0
      ? NOTHING_ASKED
      : await readStanding(connection, day, {
          buckets: asked.map(({ bucket }) => bucket).filter((each) => !taken.has(each)),
          accounts: asked.map(accountOf),
        })
  if (keyUnits.size > 0) await addKeyUnits(connection, day, keyUnits)
  const capped = cappedKeys(beyondQuota)
  const caps = capped.size === 0 ? NO_CAPS : await lockCaps(connection, day, capped)
  const shown = cappedKeys(readers)
  const capsShown = shown.size === 0 ? NO_CAPS : await readCaps(connection, day, shown)
  const calls = payableCalls(beyondQuota, { standing, caps }, batch.pricePerCall)
  const spent = calls.size === 0 ? NOTHING_SPENT : await spendCalls(connection, { ...batch, calls })
  const tally = new Tally(batch, { taken, spent, standing, caps, capsShown })
  const admissions = admits.map((caller) => tally.admit(caller))
  if (tally.paid.size > 0) await addPaid(connection, day, tally.paid)
  return { admissions, rateLimits: readers.map((caller) => tally.rateLimit(caller)) }
}

interface Shares {
  readonly keyUnits: ReadonlyMap<string, number>
  readonly beyondQuota: readonly Caller[]
}

function shareUnits(admits: readonly Caller[], taken: ReadonlyMap<string, Taken>): Shares {
  const shared = new Map<string, number>()
  const keyUnits = new Map<string, number>()
  const beyondQuota: Caller[] = []
  for (const caller of admits) {
    const granted = taken.get(caller.bucket)?.granted ?? 0
    const isFree = countOne(shared, caller.bucket) <= granted
    const key = countedKeyOf(caller)
    if (!isFree) beyondQuota.push(caller)
    else if (key !== null) countOne(keyUnits, key)
  }
  return { keyUnits, beyondQuota }
}

/** Calls of accounts that hold the price of at least one; the debit itself decides. */
function payableCalls(
  callers: readonly Caller[],
  { standing: { balances }, caps }: Pick<Outcome, 'standing' | 'caps'>,
  pricePerCall: MicroUsd,
): ReadonlyMap<string, number> {
  const calls = new Map<string, number>()
  for (const account of callers.map(accountOf)) {
    const cost = BigInt((calls.get(account) ?? 0) + 1) * pricePerCall
    const isCapped = cost > (caps.get(account)?.left ?? cost)
    if (!isCapped && (balances.get(account) ?? 0n) >= pricePerCall) countOne(calls, account)
  }
  return calls
}

function cappedKeys(callers: readonly Caller[]): ReadonlySet<string> {
  const capped = new Set<string>()
  for (const caller of callers)
    if (caller.kind === 'keyed' && caller.limits?.dailyCapMicroUsd !== undefined)
      capped.add(caller.publicId)
  return capped
}

function countOne(counts: Map<string, number>, name: string): number {
  const count = (counts.get(name) ?? 0) + 1
  counts.set(name, count)
  return count
}

export function accountOf(caller: Caller): string {
  return caller.kind === 'keyed' ? keyAccount(caller.publicId) : bucketAccount(caller.bucket)
}

export function countedKeyOf(caller: Caller): string | null {
  return caller.kind === 'keyed' && caller.hasOwnCounter === true ? caller.publicId : null
}

interface Outcome {
  /** Keyed by bucket. */
  readonly taken: ReadonlyMap<string, Taken>
  /** Keyed by account. */
  readonly spent: ReadonlyMap<string, Spent>
  readonly standing: Standing
  /** Keyed by account. */
  readonly caps: ReadonlyMap<string, CapLeft>
  /** Spending caps of callers who ask for their state. */
  readonly capsShown: ReadonlyMap<string, CapLeft>
}

interface BucketTally {
  used: number
  paid: number
  unitsLeft: number
}

/** Spreads results over calls, so that each answer shows its own moment. */
class Tally {
  /** Keyed by bucket. */
  readonly paid = new Map<string, number>()
  readonly #batch: Batch
  readonly #outcome: Outcome
  readonly #buckets = new Map<string, BucketTally>()
  /** Keyed by account. */
  readonly #callsLeft = new Map<string, number>()
  readonly #newest = new Map<string, Caller>()

  constructor(batch: Batch, outcome: Outcome) {
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
      return this.#admitted(caller, 'quota')
    }
    const account = accountOf(caller)
    const callsLeft = this.#callsLeft.get(account) ?? 0
    if (callsLeft === 0) return this.#refused(caller, account)
    this.#callsLeft.set(account, callsLeft - 1)
    bucket.paid += 1
    this.paid.set(caller.bucket, (this.paid.get(caller.bucket) ?? 0) + 1)
    return this.#admitted(caller, 'prepaid')
  }

  #refused(caller: Caller, account: string): Admission {
    const rateLimit = this.#usage(caller)
    const capped = this.#outcome.caps.get(account)
    const calls = (this.#outcome.spent.get(account)?.calls ?? 0) + 1
    if (capped === undefined || capped.left >= BigInt(calls) * this.#batch.pricePerCall)
      return { kind: 'exhausted', rateLimit }
    return { kind: 'limited', cap: capped.cap, rateLimit }
  }

  rateLimit(caller: Caller): MeterState {
    const usage = this.#usage(caller)
    const prepaidBalance = this.#balance(caller)
    const refused = usage.remaining > 0 ? undefined : this.#refusal(caller, prepaidBalance)
    return { ...usage, prepaidBalance, ...(refused !== undefined && { refused }) }
  }

  #refusal(caller: Caller, balance: MicroUsd): Refused | undefined {
    const { pricePerCall } = this.#batch
    const capped = this.#outcome.capsShown.get(accountOf(caller))
    if (capped !== undefined && capped.left < pricePerCall)
      return { kind: 'limited', cap: capped.cap }
    return balance < pricePerCall ? { kind: 'exhausted' } : undefined
  }

  #balance(caller: Caller): MicroUsd {
    const account = accountOf(caller)
    const { spent, standing } = this.#outcome
    return spent.get(account)?.balance ?? standing.balances.get(account) ?? 0n
  }

  #usage(caller: Caller): RateLimitState {
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

  #admitted(caller: Caller, source: 'quota' | 'prepaid'): Admission {
    return { kind: 'admitted', source, rateLimit: this.#usage(caller) }
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
