import { forgetKey } from '#accounts/metering/callers.ts'
import { getMeter } from '#accounts/metering/meter/meter.ts'
import { documentPages } from '#api/document-pages.ts'
import { type HealthDeps, healthRoutes, type Readiness, statusPage } from '#api/health-routes.ts'
import { metaRoute } from '#api/meta-route.ts'
import { createMetrics, type Metrics } from '#api/metrics.ts'
import { type ApiDeps, createApi } from '#api/server.ts'
import { sleep, TtlCache } from '#base/async.ts'
import type { Context } from '#context.ts'
import { wantedJobs } from '#main/jobs.ts'
import { listRoutes, unconfiguredRoutes } from '#main/routes.ts'
import { accountsMigrations } from '#main/stores.ts'
import { listGauges } from '#ops/health/gauges.ts'
import type { IndexProgress } from '#ops/health/index-progress.ts'
import { startMetricsServer } from '#ops/health/metrics-server.ts'
import {
  type Leading,
  publicReadiness,
  readReadiness,
  watchAccounts,
} from '#ops/health/read-readiness.ts'
import { getSettling } from '#payments/x402/settling.ts'
import { sitePages } from '#site/site-pages.ts'

/** Routes of meta and health, and pages, are added here. */
interface ServeInput extends HealthDeps, Omit<ApiDeps, 'ctx' | 'pages'> {
  /** Shows RPC hosts, so it is served on the metrics port only. */
  operatorReadiness(): Promise<Readiness>
  /** Undefined switches metrics off. */
  readonly metrics: Metrics | undefined
}

export interface Served {
  /** Such as `http://127.0.0.1:4020`. */
  readonly url: string
  readonly port: number
  readonly metricsPort: number | undefined
  /** Drains requests in flight; does not close the stores. */
  stop(): Promise<void>
}

/** Serves the API, and the metrics on their own port. */
export async function serve(ctx: Context, composed: ServeInput): Promise<Served> {
  const { config, ecosystem } = ctx
  const draining = { isOn: false }
  const input = {
    ...composed,
    readiness: unlessDraining(draining, composed.readiness),
    operatorReadiness: unlessDraining(draining, composed.operatorReadiness),
  }
  const routes = [...input.routes, metaRoute(ctx), ...healthRoutes(input)]
  const pages = [
    statusPage(input, ecosystem.service.name),
    ...documentPages(ctx, routes),
    ...sitePages(ctx, routes),
  ]
  const api = createApi({ ...input, ctx, routes, pages })
  const metrics =
    config.metrics &&
    input.metrics &&
    (await startMetricsServer(
      { metrics: input.metrics, readiness: input.operatorReadiness },
      config.metrics,
    ))
  const port = await api.listen(config).catch(async (error: unknown) => {
    await metrics?.stop()
    throw error
  })
  const url = `http://${config.host.includes(':') ? `[${config.host}]` : config.host}:${port}`
  return {
    url,
    port,
    metricsPort: metrics?.port,
    async stop() {
      draining.isOn = true
      api.drain()
      await sleep(config.drainSeconds * 1_000)
      await api.stop()
      await metrics?.stop()
      input.metrics?.stop()
    },
  }
}

function unlessDraining(
  draining: { readonly isOn: boolean },
  read: () => Promise<Readiness>,
): () => Promise<Readiness> {
  return async () => {
    const { ready, parts } = await read()
    if (!draining.isOn) return { ready, parts }
    return { ready: false, parts: { ...parts, process: 'stopping' } }
  }
}

/** Composes the API; layers are connected only here. */
export async function compose(
  ctx: Context,
  indexing: () => readonly IndexProgress[] = () => [],
  leading: Leading = { index: false, jobs: new Map() },
): Promise<ServeInput> {
  const { ecosystem, accounts, config, clock } = ctx
  const settling = await getSettling(ctx)
  // Other processes change keys, so listen for their notifications.
  accounts.listen?.('sexton_keys', (digest) => forgetKey(ctx, digest))
  const work = {
    indexing,
    jobs: wantedJobs(ctx),
    leading,
    accountsState: watchAccounts(ctx, accountsMigrations),
  }
  const readiness = () => readReadiness(ctx, work)
  // Readiness is free to ask and costs as much as many calls, so cache it.
  const shown = new TtlCache<Readiness>({ max: 1, ttlMs: 1_000, clock })
  const gauges = () =>
    listGauges(ctx, {
      ...work,
      readiness,
      waitingCalls: () => getMeter(ctx).waiting(),
      settling,
    })
  return {
    metrics: config.metrics && createMetrics(ctx, gauges()),
    readiness: () =>
      shown.get('', async () => publicReadiness(await readiness(), ecosystem.chains)),
    operatorReadiness: readiness,
    unconfigured: unconfiguredRoutes(ctx),
    routes: listRoutes(ctx),
  }
}
