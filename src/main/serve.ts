import { forgetKey } from '#accounts/metering/callers.ts'
import { getMeter } from '#accounts/metering/meter/meter.ts'
import { documentPages } from '#api/document-pages.ts'
import { type HealthDeps, healthRoutes, type Readiness, statusPage } from '#api/health-routes.ts'
import { metaRoute } from '#api/meta-route.ts'
import { createMetrics, type Metrics } from '#api/metrics.ts'
import { type ApiDeps, createApi } from '#api/server.ts'
import { sleep, TtlCache } from '#base/async.ts'
import type { Config } from '#config.ts'
import type { Context } from '#context.ts'
import { wantedJobs } from '#main/jobs.ts'
import { listRoutes, unconfiguredRoutes } from '#main/routes.ts'
import { accountsMigrations } from '#main/stores.ts'
import { listGauges } from '#ops/health/gauges.ts'
import type { IndexProgress } from '#ops/health/index-progress.ts'
import { type MetricsServer, startMetricsServer } from '#ops/health/metrics-server.ts'
import { type Leading, publicReadiness, readReadiness } from '#ops/health/read-readiness.ts'
import { watchAccounts } from '#ops/health/store-state.ts'
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
  const { name, publicBaseUrl } = ecosystem.service
  const draining = { isOn: false }
  const input = {
    ...composed,
    readiness: unlessDraining(draining, composed.readiness),
    operatorReadiness: unlessDraining(draining, composed.operatorReadiness),
  }
  const routes = [...input.routes, metaRoute(ctx), ...healthRoutes(input)]
  const pages = [statusPage(input, name), ...documentPages(ctx, routes), ...sitePages(ctx, routes)]
  const api = createApi({ ...input, ctx, routes, pages })
  const metrics = await openMetrics(config, input)
  const port = await listen(() => api.listen(config), metrics)
  const url = `http://${config.host.includes(':') ? `[${config.host}]` : config.host}:${port}`
  warnAboutAddress(ctx, publicBaseUrl, port)
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

/** Warns if the public address, which links, the OpenAPI document and offers use, looks wrong. Behind a proxy its port is the proxy's. */
export function warnAboutAddress(
  { logger, config }: Pick<Context, 'logger'> & { readonly config: Pick<Config, 'trustedProxies'> },
  publicBaseUrl: string,
  port: number,
): void {
  if (config.trustedProxies.length > 0) return
  const { hostname, port: named, protocol } = new URL(publicBaseUrl)
  const isLocal = hostname === 'localhost' || hostname === '127.0.0.1'
  const expected = named === '' ? (protocol === 'https:' ? 443 : 80) : Number(named)
  if (isLocal && expected !== port)
    logger.warn(
      { publicBaseUrl, port },
      'service.publicBaseUrl names another port than this one: links in answers will not work',
    )
}

async function openMetrics(
  config: Pick<Config, 'metrics'>,
  { metrics, operatorReadiness: readiness }: Pick<ServeInput, 'metrics' | 'operatorReadiness'>,
): Promise<MetricsServer | undefined> {
  if (config.metrics === undefined || metrics === undefined) return undefined
  return startMetricsServer({ metrics, readiness }, config.metrics)
}

/** Stops the other server if one port is taken. */
async function listen(
  open: () => Promise<number>,
  metrics: MetricsServer | undefined,
): Promise<number> {
  try {
    return await open()
  } catch (error) {
    await metrics?.stop()
    throw error
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
