import { newestKeys } from '#accounts/keys/key-store.ts'
import { keyedCaller } from '#accounts/metering/callers.ts'
import { readAllowance } from '#accounts/metering/tier.ts'
import type { Context } from '#context.ts'
import { unixNow } from '#lib/time.ts'
import { LeadLostError } from '#operations/jobs/leader.ts'
import type { KeyedCaller } from '#serving/webhooks/charge-event.ts'
import { Delivery } from '#serving/webhooks/delivery.ts'
import { POST_TIMEOUT_MS, resolveName } from '#serving/webhooks/post-event.ts'
import type { JobDeps } from './job-deps.ts'

/** What one process needs to send events; its runs do not wait for receivers. */
export function openSending(deps: JobDeps): Delivery {
  const { accounts, register, ecosystem, config, clock, logger } = deps
  return new Delivery({
    accounts,
    register,
    ecosystem,
    clock,
    pricePerCall: ecosystem.pricePerCall,
    callersOf: openCallers(deps),
    allowPrivate: config.webhookPrivate,
    resolve: resolveName,
    timeoutMs: POST_TIMEOUT_MS,
    random: Math.random,
    report(err) {
      if (!(err instanceof LeadLostError))
        logger.error({ err }, 'an event could not be sent; trying again')
    },
  })
}

/** Who pays for events of keys: their newest rotations. */
export function openCallers(ctx: Context) {
  return async (publicIds: readonly string[]) => {
    const keys = await newestKeys({ run: ctx.accounts.read }, publicIds)
    const living = [...keys].filter(([, { revokedUnix, limits }]) => {
      const endUnix = limits?.expiresUnix ?? Number.POSITIVE_INFINITY
      return revokedUnix === null && endUnix > unixNow(ctx.clock)
    })
    const callers = living.map(async ([publicId, key]): Promise<[string, KeyedCaller]> => {
      return [publicId, keyedCaller(ctx, key, await readAllowance(ctx, key.wallet))]
    })
    return new Map(await Promise.all(callers))
  }
}
