import { setTimeout as delay } from 'node:timers/promises'
import type { LRUCache } from 'lru-cache'
import type { Meter } from '#access/meter/admission.ts'
import type { Caller, UsageFigures } from '#domain/caller.ts'
import type { Clock } from '#lib/time.ts'
import { nextMidnight, unixNow } from '#lib/time.ts'

export interface FiguresDeps {
  readonly meter: Pick<Meter, 'figures'>
  readonly clock: Clock
  /** Remembers figures for callers that are being turned away; a second is fresh enough for them. */
  readonly remembered: LRUCache<string, UsageFigures>
}

/** Docs and health must answer while the store hangs, so their headers do not wait for it. */
const FIGURES_TIMEOUT_MS = 500

/** The caller's figures as they stand, or `noFigures` when the store does not tell them in time. */
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

/** For a 429: a flood must not turn into reads of the store. */
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

/** Figures of a moment ago, or what can be said without the store. */
export function rememberedFigures(deps: FiguresDeps, caller: Caller): UsageFigures {
  return recall(deps, caller) ?? noFigures(caller, deps.clock())
}

/** Figures of another day say nothing about this one, and their reset may be past. */
function recall({ remembered, clock }: FiguresDeps, caller: Caller): UsageFigures | undefined {
  const known = remembered.get(caller.identity)
  return known?.resetUnix === nextMidnight(unixNow(clock)) ? known : undefined
}

/** What can be said without the store: the tier, its limit and the reset; nothing is promised. */
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
