import { RETAINED_USAGE } from '#accounts/metering/usage/usage.ts'
import { type Clock, unixNow } from '#lib/time.ts'
import { RETAINED_CLAIMS } from '#money/payments/claim.ts'
import { RETAINED_PAYMENTS } from '#money/x402/payment.ts'
import { createPruning, type Retained } from '#operations/jobs/retained.ts'
import { RETAINED_WEBHOOKS } from '#serving/webhooks/webhook-store.ts'
import type { Engine } from '#store/engine.ts'

/** All that is deleted from the accounts, in this order. */
export const RETENTION: readonly Retained[] = [
  ...RETAINED_USAGE,
  RETAINED_CLAIMS,
  RETAINED_PAYMENTS,
  RETAINED_WEBHOOKS,
]

export interface RetentionDeps {
  readonly engine: Engine
  readonly clock: Clock
  /** Unix seconds, of the newest indexed block. */
  headUnix(): Promise<number | undefined>
}

/** A day ends when the chains have passed it, so a wrong clock deletes nothing early. */
export function createRetention(deps: RetentionDeps): (signal?: AbortSignal) => Promise<void> {
  const prune = createPruning(RETENTION)
  return async (signal) => {
    const headUnix = await deps.headUnix()
    if (headUnix === undefined) return
    const nowUnix = Math.min(unixNow(deps.clock), headUnix)
    await prune({ engine: deps.engine, nowUnix }, signal)
  }
}
