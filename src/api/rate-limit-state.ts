import { setTimeout as delay } from 'node:timers/promises'
import type { LRUCache } from 'lru-cache'
import type { Meter } from '#accounts/metering/meter/admission.ts'
import type { Caller, RateLimitState } from '#domain/caller.ts'
import type { Clock } from '#lib/time.ts'
import { nextMidnight, unixNow } from '#lib/time.ts'

export interface RateLimitDeps {
  readonly meter: Pick<Meter, 'rateLimit'>
  readonly clock: Clock
  /** States of refused callers. */
  readonly remembered: LRUCache<string, RateLimitState>
}

/** Docs and health must answer while the store hangs. */
const RATE_LIMIT_TIMEOUT_MS = 500

/** The current state, or `nothingLeft` when the store is too slow. */
export async function rateLimitOf(deps: RateLimitDeps, caller: Caller): Promise<RateLimitState> {
  const timer = new AbortController()
  const late = delay(RATE_LIMIT_TIMEOUT_MS, undefined, { signal: timer.signal, ref: false })
  try {
    const rateLimit = await Promise.race([
      deps.meter.rateLimit(caller),
      late.catch(() => undefined),
    ])
    return rateLimit ?? nothingLeft(caller, deps.clock())
  } catch {
    return nothingLeft(caller, deps.clock())
  } finally {
    timer.abort()
  }
}

/** Cached for a 429, so that a flood does not turn into store reads. */
export async function rateLimitAfterRefusal(
  deps: RateLimitDeps,
  caller: Caller,
): Promise<RateLimitState> {
  const known = recall(deps, caller)
  if (known !== undefined) return known
  const rateLimit = await rateLimitOf(deps, caller)
  deps.remembered.set(caller.identity, rateLimit)
  return rateLimit
}

export function rememberedRateLimit(deps: RateLimitDeps, caller: Caller): RateLimitState {
  return recall(deps, caller) ?? nothingLeft(caller, deps.clock())
}

/** A state of another day is wrong for today, and its reset may be past. */
function recall({ remembered, clock }: RateLimitDeps, caller: Caller): RateLimitState | undefined {
  const known = remembered.get(caller.identity)
  return known?.resetUnix === nextMidnight(unixNow(clock)) ? known : undefined
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
