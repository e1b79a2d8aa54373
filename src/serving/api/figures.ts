import { setTimeout as delay } from 'node:timers/promises'
import type { LRUCache } from 'lru-cache'
import type { Meter } from '#callers/metering/meter/admission.ts'
import type { Caller, UsageFigures } from '#domain/caller.ts'
import type { Clock } from '#lib/time.ts'
import { nextMidnight, unixNow } from '#lib/time.ts'

export interface FiguresDeps {
  readonly meter: Pick<Meter, 'figures'>
  readonly clock: Clock
  /** Cached figures for refused callers. */
  readonly remembered: LRUCache<string, UsageFigures>
}

/** Docs and health must answer while the store hangs. */
const FIGURES_TIMEOUT_MS = 500

/** Current figures, or `noFigures` when the store is too slow. */
export async function figuresOf(deps: FiguresDeps, caller: Caller): Promise<UsageFigures> {
  const timer = new AbortController()
  const late = delay(FIGURES_TIMEOUT_MS, undefined, { signal: timer.signal, ref: false })
  try {
    const figures = await Promise.race([deps.meter.figures(caller), late.catch(() => undefined)])
    return figures ?? noFigures(caller, deps.clock())
  } catch {
    return noFigures(caller, deps.clock())
  } finally {
    timer.abort()
  }
}

/** Cached for a 429, so that a flood does not turn into store reads. */
export async function figuresAfterRefusal(
  deps: FiguresDeps,
  caller: Caller,
): Promise<UsageFigures> {
  const known = recall(deps, caller)
  if (known !== undefined) return known
  const figures = await figuresOf(deps, caller)
  deps.remembered.set(caller.identity, figures)
  return figures
}

export function rememberedFigures(deps: FiguresDeps, caller: Caller): UsageFigures {
  return recall(deps, caller) ?? noFigures(caller, deps.clock())
}

/** Figures of another day are wrong for today, and their reset may be past. */
function recall({ remembered, clock }: FiguresDeps, caller: Caller): UsageFigures | undefined {
  const known = remembered.get(caller.identity)
  return known?.resetUnix === nextMidnight(unixNow(clock)) ? known : undefined
}

/** Figures without the store: tier, limit and reset, with nothing left. */
export function noFigures(caller: Caller, nowMs: number): UsageFigures {
  return {
    tier: caller.tier,
    dailyQuota: caller.dailyQuota,
    requestCount: 0,
    overageCount: 0,
    remaining: 0,
    resetUnix: nextMidnight(unixNow(() => nowMs)),
  }
}
