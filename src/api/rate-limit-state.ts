import { setTimeout as delay } from 'node:timers/promises'
import { LRUCache } from 'lru-cache'
import { meterOf } from '#accounts/metering/meter/meter.ts'
import { type Context, oncePerContext } from '#context.ts'
import type { Caller, RateLimitState } from '#domain/caller.ts'
import { nextMidnight, unixNow } from '#lib/time.ts'

/** Refused addresses; a flood from more of them reads the store again. */
const REMEMBERED_MAX = 10_000
const REMEMBERED_MS = 1_000

/** States of refused callers. */
const remembered = oncePerContext(
  () => new LRUCache<string, RateLimitState>({ max: REMEMBERED_MAX, ttl: REMEMBERED_MS }),
)

/** Docs and health must answer while the store hangs. */
const RATE_LIMIT_TIMEOUT_MS = 500

/** The current state, or `nothingLeft` when the store is too slow. */
export async function rateLimitOf(ctx: Context, caller: Caller): Promise<RateLimitState> {
  const timer = new AbortController()
  const late = delay(RATE_LIMIT_TIMEOUT_MS, undefined, { signal: timer.signal, ref: false })
  try {
    const rateLimit = await Promise.race([
      meterOf(ctx).rateLimit(caller),
      late.catch(() => undefined),
    ])
    return rateLimit ?? nothingLeft(caller, ctx.clock())
  } catch {
    return nothingLeft(caller, ctx.clock())
  } finally {
    timer.abort()
  }
}

/** Cached for a 429, so that a flood does not turn into store reads. */
export async function rateLimitAfterRefusal(ctx: Context, caller: Caller): Promise<RateLimitState> {
  const known = recall(ctx, caller)
  if (known !== undefined) return known
  const rateLimit = await rateLimitOf(ctx, caller)
  remembered(ctx).set(caller.identity, rateLimit)
  return rateLimit
}

export function rememberedRateLimit(ctx: Context, caller: Caller): RateLimitState {
  return recall(ctx, caller) ?? nothingLeft(caller, ctx.clock())
}

/** A state of another day is wrong for today, and its reset may be past. */
function recall(ctx: Context, caller: Caller): RateLimitState | undefined {
  const known = remembered(ctx).get(caller.identity)
  return known?.resetUnix === nextMidnight(unixNow(ctx.clock)) ? known : undefined
}

/** Returns the state without the store: tier, limit and reset, with nothing left. */
export function nothingLeft(caller: Caller, nowMs: number): RateLimitState {
  return {
    tier: caller.tier,
    dailyQuota: caller.dailyQuota,
    requestCount: 0,
    overageCount: 0,
    remaining: 0,
    resetUnix: nextMidnight(unixNow(() => nowMs)),
  }
}
