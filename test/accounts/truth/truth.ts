import { DAY_SECONDS, startOfDay } from '#base/time.ts'
import { BucketDay } from './bucket-day.ts'
import type { Answered, CallKind, Entry } from './entry.ts'
import type { Roster } from './roster.ts'
import type { Violations } from './violations.ts'

/** A revoked key is refused on every replica within this time. */
const REVOKED_WITHIN_MS = 1_000

/** What the callers know of one key or address. */
class CallerState {
  inFlight = 0
  lost = 0
  paid = 0
  /** Money that was certainly put on the key. */
  fundedMicroUsd = 0
  /** The part of it that was put there last, and when that was known. */
  lastFunding = { microUsd: 0, atMs: 0 }
  endingMs: number | undefined
  endedMs: number | undefined
}

/** What the callers know of what is counted together: a wallet's keys, or an address. */
export class BucketState {
  readonly days = new Map<number, BucketDay>()
  inFlight = 0
  /** Calls without an answer, or with 503: each may have been counted or not, on the day it was sent or the next. */
  lost = 0
  /** The least quota that any answer named. */
  quotaLeast = Number.POSITIVE_INFINITY
  fundedMicroUsd = 0
}

export interface TruthOptions {
  /** While the store fails, whatever needs it may be answered 503; a lost COMMIT reply may have counted that. */
  readonly mayBeUnavailable?: boolean
}

/**
 * Follows the callers' own record and holds every answer against the promises. It believes nothing
 * that the service says of itself: what was counted is what was answered.
 */
export class Truth {
  readonly buckets = new Map<string, BucketState>()
  /** Answers by kind of call and status. */
  readonly answers = new Map<string, number>()
  readonly #roster: Roster
  readonly #violations: Violations
  readonly #pricePerCall: number
  readonly #mayBeUnavailable: boolean
  readonly #callers = new Map<number, CallerState>()

  constructor(
    roster: Roster,
    violations: Violations,
    pricePerCall: number,
    options: TruthOptions = {},
  ) {
    this.#mayBeUnavailable = options.mayBeUnavailable ?? false
    this.#roster = roster
    this.#violations = violations
    this.#pricePerCall = pricePerCall
  }

  follow(entry: Entry): void {
    const caller = this.#callerOf(entry.caller)
    const bucket = this.#bucketOf(entry.caller)
    switch (entry.type) {
      case 'sent':
        this.#inFlight(entry.kind, caller, bucket, 1)
        break
      case 'answered':
        this.#inFlight(entry.kind, caller, bucket, -1)
        // A store that fails at its COMMIT may have counted it.
        if (entry.status === 503) this.#lost(entry.kind, caller, bucket)
        this.#answered(entry, caller, bucket)
        break
      case 'lost':
        this.#inFlight(entry.kind, caller, bucket, -1)
        this.#lost(entry.kind, caller, bucket)
        break
      case 'funded':
        bucket.fundedMicroUsd += entry.microUsd
        caller.fundedMicroUsd += caller.endingMs === undefined ? entry.microUsd : 0
        caller.lastFunding = entry
        break
      case 'ending':
        caller.endingMs = entry.atMs
        break
      case 'ended':
        caller.endedMs = entry.atMs
        this.#passOn(caller, entry.successor)
    }
  }

  /** A rotation moves what is left of a key's money to its successor. */
  #passOn(caller: CallerState, successor: number | undefined): void {
    if (successor === undefined) return
    this.#callerOf(successor).fundedMicroUsd += Math.max(0, this.#balanceLeast(caller))
    caller.fundedMicroUsd = 0
  }

  #inFlight(kind: CallKind, caller: CallerState, bucket: BucketState, by: number): void {
    if (!isMetered(kind)) return
    caller.inFlight += by
    bucket.inFlight += by
  }

  #lost(kind: CallKind, caller: CallerState, bucket: BucketState): void {
    if (!isMetered(kind)) return
    caller.lost += 1
    bucket.lost += 1
  }

  #answered(answer: Answered, caller: CallerState, bucket: BucketState): void {
    const counted = `${answer.kind} ${answer.status} ${answer.source}`
    this.answers.set(counted, (this.answers.get(counted) ?? 0) + 1)
    this.#checkStatus(answer, caller)
    this.#checkHeaders(answer)
    if (!isMetered(answer.kind) || answer.status === 401 || answer.status === 503) return
    const day = dayOf(bucket, answer.resetUnix - DAY_SECONDS)
    day.quotaMost = Math.max(day.quotaMost, answer.limit)
    bucket.quotaLeast = Math.min(bucket.quotaLeast, answer.limit)
    if (answer.status === 402) this.#checkRefusal(answer, { caller, bucket, day })
    if (answer.status !== 200) return
    if (answer.source === 'prepaid') {
      day.paid += 1
      caller.paid += 1
      return
    }
    day.free += 1
    const unit = answer.limit - answer.remaining
    // Nothing left says only that the unit was the last one or beyond.
    if (answer.remaining > 0 && !day.take(unit))
      this.#broken('two answers took the same unit of a day', answer, `unit ${unit}`)
    if (day.free > day.quotaMost)
      this.#broken('more free calls than the quota', answer, `${day.free} of ${day.quotaMost}`)
  }

  #checkStatus(answer: Answered, { endingMs, endedMs }: CallerState): void {
    const { kind, status, source, sentMs } = answer
    const isPaidFor = source !== 'none'
    if (isPaidFor !== (isMetered(kind) && status === 200))
      this.#broken('an answer says what paid exactly if it was counted', answer, source)
    if (status === 401 && kind !== 'bad-key') {
      if (endingMs === undefined) this.#broken('a good key was refused', answer, '401')
      return
    }
    if (status === 503 && this.#mayBeUnavailable && kind !== 'unknown-path') return
    const showsKey = kind !== 'bad-key' && kind !== 'unknown-path'
    if (showsKey && endedMs !== undefined && sentMs > endedMs + REVOKED_WITHIN_MS)
      this.#broken('a revoked key was accepted', answer, `${sentMs - endedMs} ms later`)
    if (!expected[kind].includes(status))
      this.#broken('an answer has a status that it must not have', answer, `${kind} ${status}`)
  }

  #checkHeaders(answer: Answered): void {
    const { limit, remaining, resetUnix, sentMs, atMs } = answer
    const sentUnix = Math.floor(sentMs / 1_000)
    const latest = startOfDay(Math.ceil(atMs / 1_000)) + DAY_SECONDS
    if (!(resetUnix > sentUnix && resetUnix <= latest && resetUnix % DAY_SECONDS === 0))
      this.#broken(
        'the reset is the next midnight',
        answer,
        `${resetUnix}, sent at ${sentMs / 1_000}, read at ${atMs / 1_000}`,
      )
    if (!(limit > 0 && remaining >= 0 && remaining <= limit))
      this.#broken('what remains is within the limit', answer, `${remaining} of ${limit}`)
    if (answer.status === 402 && remaining !== 0)
      this.#broken('nothing remains on a 402', answer, `${remaining}`)
  }

  /**
   * A call is refused only if, at some moment between its sending and its answer, there was neither
   * a unit nor money: what may have been taken by then is what was answered, is lost, or is in flight.
   */
  #checkRefusal(
    answer: Answered,
    { caller, bucket, day }: { caller: CallerState; bucket: BucketState; day: BucketDay },
  ): void {
    const takenMost = day.free + bucket.inFlight + bucket.lost
    if (takenMost < bucket.quotaLeast)
      this.#broken('a 402 while units were left', answer, `${takenMost} of ${bucket.quotaLeast}`)
    const { lastFunding } = caller
    const later = lastFunding.atMs > answer.sentMs ? lastFunding.microUsd : 0
    const left = this.#balanceLeast(caller) - later
    if (caller.endingMs === undefined && left >= this.#pricePerCall)
      this.#broken('a 402 while money was left', answer, `${left} micro-USD`)
  }

  /** What is left of a key's money if every call without an answer was paid. */
  #balanceLeast({ fundedMicroUsd, paid, inFlight, lost }: CallerState): number {
    return fundedMicroUsd - (paid + inFlight + lost) * this.#pricePerCall
  }

  #broken(rule: string, answer: Answered, detail: string): void {
    const { bucket } = this.#roster.at(answer.caller)
    const { kind, status } = answer
    this.#violations.add(rule, `${bucket} call ${answer.call}, ${kind} ${status} (${detail})`)
  }

  #callerOf(index: number): CallerState {
    const known = this.#callers.get(index) ?? new CallerState()
    this.#callers.set(index, known)
    return known
  }

  #bucketOf(index: number): BucketState {
    const { bucket } = this.#roster.at(index)
    const known = this.buckets.get(bucket) ?? new BucketState()
    this.buckets.set(bucket, known)
    return known
  }
}

const expected: Readonly<Record<CallKind, readonly number[]>> = {
  data: [200, 402],
  conditional: [200, 304, 402],
  usage: [200],
  'bad-key': [401],
  'bad-parameter': [400],
  'unknown-path': [404],
}

function isMetered(kind: CallKind): boolean {
  return kind === 'data' || kind === 'conditional'
}

function dayOf(bucket: BucketState, day: number): BucketDay {
  const known = bucket.days.get(day) ?? new BucketDay()
  bucket.days.set(day, known)
  return known
}
