import { forgetKey } from '#accounts/metering/callers.ts'
import { meterOf } from '#accounts/metering/meter/meter.ts'
import type { Readiness } from '#api/health-routes.ts'
import { createMetrics } from '#api/metrics.ts'
import type { Context } from '#context.ts'
import { type Refusal, refuse } from '#domain/refusal.ts'
import { type Clock, nextMidnight, unixNow } from '#lib/time.ts'
import { TtlCache } from '#lib/ttl-cache.ts'
import type { X402 } from '#money/x402/create-x402.ts'
import { gaugesOf } from '#operations/health/gauges.ts'
import type { IndexProgress } from '#operations/health/index-progress.ts'
import type { Leading } from '#operations/health/job-gauges.ts'
import { publicReadiness, readReadiness } from '#operations/health/read-readiness.ts'
import { watchAccounts } from '#operations/health/store-state.ts'
import { wantedJobs } from './jobs/verifier-jobs.ts'
import { openMoney } from './open-money.ts'
import { routesOf } from './routes.ts'
import { settlingOf } from './settling.ts'
import type { ServeInput } from './start/serve.ts'
import { accountsMigrations } from './stores.ts'
import { unconfiguredRoutes } from './unconfigured-routes.ts'

export interface Composed extends ServeInput {
  /** Wakes those who wait for a prepayment. */
  onPaymentsSettled(): void
}

/** The composition of the API: the only place that connects layers. */
export async function compose(
  ctx: Context,
  indexing: () => readonly IndexProgress[] = () => [],
  leading: Leading = { index: false, jobs: new Map() },
): Promise<Composed> {
  const { ecosystem, accounts, config, clock } = ctx
  const money = openMoney(ctx)
  const x402 = money?.x402
  const routes = routesOf(ctx, {
    webhooks: {
      ...{ engine: accounts, register: ctx.register, ecosystem, clock },
      allowPrivate: config.webhookPrivate,
    },
    payments: money,
    topup: x402 && { ...x402.settling, receiver: x402.receiver },
  })
  // Other processes change keys.
  accounts.listen?.('sexton_keys', (digest) => forgetKey(ctx, digest))
  const work = {
    indexing,
    jobs: wantedJobs(ctx),
    leading,
    accountsState: watchAccounts(ctx, accountsMigrations),
  }
  const readiness = () => readReadiness(ctx, work)
  // It is free, and costs as much as many calls.
  const shown = new TtlCache<Readiness>({ max: 1, ttlMs: 1_000, clock })
  const gauges = () =>
    gaugesOf(ctx, {
      ...work,
      readiness,
      waitingCalls: () => meterOf(ctx).waiting(),
      settling: x402 && gaugedSettling(ctx, x402),
    })
  return {
    onPaymentsSettled: () => money?.notifier.notify(),
    metrics: config.metrics && createMetrics(ctx, gauges()),
    readiness: () =>
      shown.get('', async () => publicReadiness(await readiness(), ecosystem.chains)),
    operatorReadiness: readiness,
    paymentRequired: (caller, of) =>
      x402?.calls.offer(caller, of) ??
      (money === undefined
        ? quotaExceeded(clock)
        : { kind: 'payment-required', body: money.quotaBody(caller) }),
    ...(x402 !== undefined && {
      rejectUsedPayment: (of) => x402.receiver.rejectUsedPayment(of),
      settle: (caller, of) => x402.calls.pay(caller, of),
    }),
    unconfigured: unconfiguredRoutes(ecosystem, x402 !== undefined),
    routes,
  }
}

function gaugedSettling(ctx: Context, { settling, receiver }: X402) {
  const settles = settlingOf(ctx)
  const gasPerDayGwei = settles?.kind === 'wallet' ? BigInt(settles.gasPerDayGwei) : undefined
  return { ...settling, outcomes: receiver.outcomes, gasPerDayGwei }
}

function quotaExceeded(clock: Clock): Refusal {
  const nowUnix = unixNow(clock)
  return refuse('quota_exceeded', 'the daily quota is used up; it resets at 00:00 UTC', {
    retryAfterSeconds: nextMidnight(nowUnix) - nowUnix,
  })
}
