import { LRUCache } from 'lru-cache'
import { type Refusal, refuse } from '#domain/refusal.ts'
import type { Clock } from '#lib/clock.ts'

/** A token bucket: so many requests at once, and so many more per second. */
export interface GuardLimit {
  readonly burst: number
  readonly refillPerSecond: number
}

/** The general bucket, and the tighter ones of the costly routes. */
export type GuardKind = 'general' | 'mint' | 'claim'

/**
 * The general one has to be wide enough that a loop through a day's quota meets 402 and not 429. A mint
 * costs milliseconds of signature recovery, a claim a row: honest callers need a handful of either.
 */
export type GuardLimits = Readonly<Record<GuardKind, GuardLimit>>

/**
 * Addresses remembered for each kind, about 10 MB at most; whoever has more addresses than this is
 * no matter for counters.
 */
const BUCKETS_MAX = 100_000

interface Tokens {
  left: number
  atMs: number
}

export type Guard = (
  addressBucket: string,
  kind: 'mint' | 'claim' | undefined,
) => Refusal | undefined

export interface GuardDeps {
  readonly clock: Clock
  readonly limits: GuardLimits
  /** Addresses remembered for each kind. */
  readonly bucketsMax?: number
}

/** Takes a token of an address for one request, in this process; refuses when none is left. */
export function createGuard(deps: GuardDeps): Guard {
  const max = deps.bucketsMax ?? BUCKETS_MAX
  // One memory for each kind: a cheap flood of one must not make the others forget who ran dry.
  // Each takes all its room at once, so it is made when first asked for.
  const remembered = new Map<string, LRUCache<string, Tokens>>()
  return (addressBucket, route) => {
    const kind = route ?? 'general'
    const limit = deps.limits[kind]
    const buckets = remembered.get(kind) ?? new LRUCache<string, Tokens>({ max })
    remembered.set(kind, buckets)
    const now = deps.clock()
    let tokens = buckets.get(addressBucket)
    if (tokens === undefined) {
      tokens = { left: limit.burst, atMs: now }
      buckets.set(addressBucket, tokens)
    }
    const gained = (Math.max(0, now - tokens.atMs) / 1000) * limit.refillPerSecond
    tokens.left = Math.min(limit.burst, tokens.left + gained)
    tokens.atMs = now
    if (tokens.left >= 1) {
      tokens.left -= 1
      return undefined
    }
    return refuse('rate_limited', 'too many requests from this address in a short time', {
      retryAfterSeconds: Math.max(1, Math.ceil((1 - tokens.left) / limit.refillPerSecond)),
    })
  }
}
