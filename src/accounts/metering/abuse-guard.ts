import { LRUCache } from 'lru-cache'
import { type FailureGuard, type Refusal, refuse } from '#domain/refusal.ts'
import type { Clock } from '#lib/time.ts'

export interface GuardLimit {
  readonly burst: number
  readonly refillPerSecond: number
}

export type GuardKind = 'general' | 'mint' | 'gate' | 'claim' | 'webhook'

/**
 * `general` is wide enough that a loop through a day's quota meets 402, not 429. A mint costs a
 * signature recovery and a claim a row; honest callers need few.
 * Any web site can make its visitors read the gate, which must not keep them from revoking a key.
 */
export type GuardLimits = Readonly<Record<GuardKind, GuardLimit>>

/** About 10 MB per kind. Counters cannot stop attackers with more addresses. */
const BUCKETS_MAX = 100_000

interface Tokens {
  left: number
  atMs: number
}

interface TokenBucketsDeps {
  readonly clock: Clock
  readonly limit: GuardLimit
  readonly bucketsMax?: number
}

class TokenBuckets {
  readonly #deps: TokenBucketsDeps
  readonly #buckets: LRUCache<string, Tokens>

  constructor(deps: TokenBucketsDeps) {
    this.#deps = deps
    this.#buckets = new LRUCache({ max: deps.bucketsMax ?? BUCKETS_MAX })
  }

  take(addressBucket: string): void {
    const left = this.#left(addressBucket) - 1
    this.#buckets.set(addressBucket, { left, atMs: this.#deps.clock() })
  }

  refusal(addressBucket: string, message: string): Refusal | undefined {
    const left = this.#left(addressBucket)
    if (left >= 1) return undefined
    const { refillPerSecond } = this.#deps.limit
    return refuse('rate_limited', message, {
      retryAfterSeconds: Math.max(1, Math.ceil((1 - left) / refillPerSecond)),
    })
  }

  #left(addressBucket: string): number {
    const { clock, limit } = this.#deps
    const tokens = this.#buckets.get(addressBucket)
    if (tokens === undefined) return limit.burst
    const now = clock()
    const gained = (Math.max(0, now - tokens.atMs) / 1000) * limit.refillPerSecond
    tokens.left = Math.min(limit.burst, tokens.left + gained)
    tokens.atMs = now
    return tokens.left
  }
}

export type CallGuard = (
  addressBucket: string,
  kind: Exclude<GuardKind, 'general'> | undefined,
) => Refusal | undefined

export interface GuardDeps {
  readonly clock: Clock
  readonly limits: GuardLimits
  readonly bucketsMax?: number
}

/** Counts in this process only. */
export function createGuard(deps: GuardDeps): CallGuard {
  // A cache per kind, so that a flood of one kind cannot evict the others. Lazy, because each
  // allocates all its room.
  const remembered = new Map<GuardKind, TokenBuckets>()
  return (addressBucket, route) => {
    const kind = route ?? 'general'
    const buckets = remembered.get(kind) ?? new TokenBuckets({ ...deps, limit: deps.limits[kind] })
    remembered.set(kind, buckets)
    const refused = buckets.refusal(
      addressBucket,
      'too many requests from this address in a short time',
    )
    if (refused === undefined) buckets.take(addressBucket)
    return refused
  }
}

export function createFailureGuard(
  deps: TokenBucketsDeps & { readonly message: string },
): FailureGuard {
  let buckets: TokenBuckets | undefined
  return {
    refusal: (addressBucket) => buckets?.refusal(addressBucket, deps.message),
    failed(addressBucket) {
      buckets ??= new TokenBuckets(deps)
      buckets.take(addressBucket)
    },
  }
}
