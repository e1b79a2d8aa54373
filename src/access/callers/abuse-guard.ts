import { LRUCache } from 'lru-cache'
import { type Refusal, refuse } from '#domain/refusal.ts'
import type { Clock } from '#lib/time.ts'

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

interface TokenBucketsDeps {
  readonly clock: Clock
  readonly limit: GuardLimit
  /** Most addresses remembered at once. */
  readonly bucketsMax?: number
}

/** One token bucket per recently seen address. */
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
  // One memory for each kind: a cheap flood of one must not make the others forget who ran dry.
  // Each takes all its room at once, so it is made when first asked for.
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

/** Refuses an address after too many failures of one kind; successes do not count. */
export interface FailureGuard {
  refusal(addressBucket: string): Refusal | undefined
  failed(addressBucket: string): void
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
