import { LRUCache } from 'lru-cache'
import type { Caller } from '#base/caller.ts'
import { type Refusal, refuse } from '#base/refusal.ts'
import type { Clock } from '#base/time.ts'
import type { GuardSetting } from '#config.ts'
import { type Context, oncePerContext } from '#context.ts'

/**
 * `general` is wide enough that a loop through a day's quota meets 402, not 429. Mints and claims cost a signature
 * recovery and a row, and honest callers need few. `gate` is apart, because any web site can make its visitors read
 * the gate, and that must not keep them from revoking a key.
 */
export type GuardKind = 'general' | 'mint' | 'gate' | 'claim' | 'webhook'

/** About 10 MB per kind. Counters cannot stop attackers with more addresses. */
const BUCKETS_MAX = 100_000

/** 30 registrations an hour, because each makes the service call a URL that may be anyone's. */
const WEBHOOK_LIMIT = { burst: 30, perMinute: 30 / 60 }

/** Takes a token from this process's bucket; refuses when it is empty. */
export function guardCall(
  ctx: Context,
  caller: Caller,
  addressBucket: string,
  kind: GuardKind = 'general',
): Refusal | undefined {
  const buckets = getBuckets(ctx, kind)
  const counted = isTrusted(caller) && kind === 'general' ? caller.bucket : addressBucket
  const refused = buckets.refusal(counted)
  if (refused === undefined) buckets.take(counted)
  return refused
}

/** Counts a keyed caller by wallet, because many keys may share an address, such as a cloud's. */
function isTrusted(caller: Caller): boolean {
  return caller.kind === 'keyed' && (caller.tier === 'premium' || caller.hasBalance === true)
}

const limitFailures = (kind: 'mint' | 'claim', what: string) =>
  oncePerContext(({ clock, config }) =>
    createBuckets(clock, config.guard[kind], `${what}; send this again later`),
  )

/** Limits signatures that do not match their wallet. */
export const getWrongSignatures = limitFailures(
  'mint',
  'too many wrong signatures from this address',
)

/** Limits payments that match an offer but cannot be settled. */
export const getFailedSettlements = limitFailures(
  'claim',
  'too many payments from this address could not be settled',
)

/** Keeps one cache per kind, so that a flood of one cannot evict the others. Built on first use, because each allocates all its room. */
function getBuckets(ctx: Context, kind: GuardKind): TokenBuckets {
  const kinds = getKinds(ctx)
  const { guard } = ctx.config
  const limit = { ...guard, gate: guard.claim, webhook: WEBHOOK_LIMIT }[kind]
  const buckets = kinds.get(kind) ?? createBuckets(ctx.clock, limit, TOO_MANY)
  kinds.set(kind, buckets)
  return buckets
}

const TOO_MANY = 'too many requests from this address in a short time'

const getKinds = oncePerContext(() => new Map<GuardKind, TokenBuckets>())

type TokenBuckets = ReturnType<typeof createBuckets>

export function createBuckets(clock: Clock, { burst, perMinute }: GuardSetting, message: string) {
  const buckets = new LRUCache<string, { left: number; atMs: number }>({ max: BUCKETS_MAX })
  const leftIn = (name: string): number => {
    const tokens = buckets.get(name)
    if (tokens === undefined) return burst
    const now = clock()
    const gained = (Math.max(0, now - tokens.atMs) / 60_000) * perMinute
    tokens.left = Math.min(burst, tokens.left + gained)
    tokens.atMs = now
    return tokens.left
  }
  return {
    take(name: string): void {
      buckets.set(name, { left: leftIn(name) - 1, atMs: clock() })
    },
    /** Refuses when no token is left. */
    refusal(name: string): Refusal | undefined {
      const left = leftIn(name)
      if (left >= 1) return undefined
      return refuse('rate_limited', message, {
        retryAfterSeconds: Math.max(1, Math.ceil(((1 - left) * 60) / perMinute)),
      })
    },
  }
}
