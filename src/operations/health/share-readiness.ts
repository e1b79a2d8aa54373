import type { Clock } from '#lib/time.ts'
import type { Readiness } from '#serving/api/health-routes.ts'

const SHARED_MS = 1_000

/** One reading for all who ask within a second: it is free, and costs as much as many calls. */
export function shareReadiness(
  clock: Clock,
  read: () => Promise<Readiness>,
): () => Promise<Readiness> {
  let last: { readonly made: Promise<Readiness>; readonly madeMs: number } | undefined
  return () => {
    const now = clock()
    if (last !== undefined && Math.abs(now - last.madeMs) < SHARED_MS) return last.made
    const own = { made: read(), madeMs: now }
    last = own
    own.made.catch(() => {
      if (last === own) last = undefined
    })
    return own.made
  }
}
