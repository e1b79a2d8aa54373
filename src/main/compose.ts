import { forgetKey } from '#accounts/metering/callers.ts'
import { meterOf } from '#accounts/metering/meter/meter.ts'
import type { Readiness } from '#api/health-routes.ts'
import { createMetrics } from '#api/metrics.ts'
import type { Context } from '#context.ts'
import { TtlCache } from '#lib/async.ts'
import { settlingOf } from '#money/x402/settling.ts'
import { gaugesOf } from '#operations/health/gauges.ts'
import type { IndexProgress } from '#operations/health/index-progress.ts'
import type { Leading } from '#operations/health/job-gauges.ts'
import { publicReadiness, readReadiness } from '#operations/health/read-readiness.ts'
import { watchAccounts } from '#operations/health/store-state.ts'
import { wantedJobs } from './jobs/verifier-jobs.ts'
import { routesOf } from './routes.ts'
import type { ServeInput } from './start/serve.ts'
import { accountsMigrations } from './stores.ts'
import { unconfiguredRoutes } from './unconfigured-routes.ts'

/** The composition of the API: the only place that connects layers. */
export async function compose(
  ctx: Context,
  indexing: () => readonly IndexProgress[] = () => [],
  leading: Leading = { index: false, jobs: new Map() },
): Promise<ServeInput> {
  const { ecosystem, accounts, config, clock } = ctx
  const settling = await settlingOf(ctx)
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
      settling,
    })
  return {
    metrics: config.metrics && createMetrics(ctx, gauges()),
    readiness: () =>
      shown.get('', async () => publicReadiness(await readiness(), ecosystem.chains)),
    operatorReadiness: readiness,
    unconfigured: unconfiguredRoutes(ctx),
    routes: routesOf(ctx),
  }
}
