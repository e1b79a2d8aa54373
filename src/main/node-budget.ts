import { createFailureGuard } from '#callers/metering/abuse-guard.ts'
import type { NodeBudget } from '#chains/datasets/as-of/find-blocks.ts'
import { refuse } from '#domain/refusal.ts'
import type { Clock } from '#lib/time.ts'

/** A year of days is some 10,000 requests on two chains; a page needs none. */
const OF_CALLER = { burst: 1_000, refillPerSecond: 5 }

/** Ten busy callers at once; more would use up what providers of nodes sell for a month. */
const OF_ALL = { burst: 10_000, refillPerSecond: 50 }

/** Requests to nodes for blocks that the register no longer has. */
export function openNodeBudget(clock: Clock): NodeBudget {
  const message = 'too many old blocks were asked for in a short time'
  const caller = createFailureGuard({ clock, limit: OF_CALLER, message })
  const all = createFailureGuard({ clock, limit: OF_ALL, message, bucketsMax: 1 })
  return {
    refusal(bucket) {
      const own = caller.refusal(bucket)
      if (own !== undefined || all.refusal(ALL) === undefined) return own
      return refuse('data_not_ready', 'Too many callers ask for old blocks; try again soon.', {
        retryAfterSeconds: 2,
      })
    },
    spend(bucket) {
      caller.failed(bucket)
      all.failed(ALL)
    },
  }
}

const ALL = 'all'
