import { type Static, Type } from 'typebox'
import { sleep } from '#base/async.ts'
import { named, recordOf } from '#base/schema.ts'
import { tiers } from '#base/tier.ts'
import { type Context, oncePerContext } from '#context.ts'
import { notConfiguredSchema } from '#data/meta.ts'
import { type Metric, metrics } from '#data/stats/history.ts'
import { readMappingAnomalies } from '#index/mappings.ts'
import { answer, defineRoute, type Route } from '#route.ts'
import { getServiceFacts, type ServiceFacts } from './service-facts.ts'

const chain = named('Chain', {
  name: Type.String(),
  chainId: Type.Integer(),
  caip2: Type.String(),
  explorerUrl: Type.Union([Type.String(), Type.Null()]),
})

const token = named('Token', {
  symbol: Type.String(),
  name: Type.String(),
  role: Type.Enum(['primary', 'secondary', 'reward']),
  decimals: Type.Integer(),
  addresses: recordOf(Type.String()),
})

const anomalies = named('Anomaly', {
  mapping: Type.String({ description: 'Its place in the ecosystem file, such as `burns[0]`' }),
  chain: Type.String(),
  logs: Type.Integer(),
  lastBlock: Type.Integer(),
  reason: Type.String(),
  kind: Type.Enum(['unreadable', 'unlisted'], {
    description: '`unlisted`: about a token that this service does not list',
  }),
})

const orNull = (description: string) => Type.Union([Type.String(), Type.Null()], { description })

const meta = named('Service', {
  service: Type.String(),
  version: Type.String(),
  chains: Type.Array(chain),
  tokens: Type.Array(token),
  links: named('Links', {
    trade: orNull('Where the token is bought'),
    website: orNull('Of the ecosystem'),
    community: orNull('Where its people talk'),
  }),
  metrics: Type.Array(Type.String()),
  tiers: Type.Array(
    named('Tier', {
      tier: Type.Enum(tiers.map(({ name }) => name)),
      dailyQuota: Type.Integer(),
      requires: Type.String(),
    }),
  ),
  limits: named('Limits', {
    limitMaximum: Type.Integer(),
    periodDaysMaximum: Type.Integer(),
    bodyBytesMaximum: Type.Integer(),
    activeKeysPerWallet: Type.Integer(),
    quotaReset: Type.String(),
  }),
  pricing: Type.Union(
    [
      named('Pricing', {
        perCallUsd: Type.String(),
        network: Type.String(),
        asset: Type.String(),
        assetSymbol: Type.String(),
        payTo: Type.String(),
        confirmations: Type.Integer(),
        docs: Type.String(),
      }),
      Type.Null(),
    ],
    { description: 'Price of calls beyond the quota; null without payments' },
  ),
  notConfigured: notConfiguredSchema,
  anomalies: Type.Array(anomalies, {
    description:
      'Logs that could not be decoded, or are about other tokens; no figure includes them',
  }),
})

/** The answer mostly changes with deployments. */
const CACHED = { 'Cache-Control': 'private, max-age=60' }

/** GET /api/meta: everything that a client can ask for. */
export function metaRoute(ctx: Context): Route {
  const body = toServiceRecord(getServiceFacts(ctx))
  return defineRoute({
    method: 'GET',
    path: '/api/meta',
    operationId: 'getMeta',
    tag: 'Service',
    summary: 'Chains, tokens, metrics, limits, tiers and prices of this service',
    description: 'Everything a client needs to know to build its requests. Never metered.',
    metered: false,
    open: true,
    parameters: {},
    answers: { 200: { description: 'What this service offers', schema: meta } },
    refusals: [],
    async handle() {
      return answer(200, { ...body, anomalies: await recentAnomalies(ctx) }, { headers: CACHED })
    },
  })
}

/** Anomalies change rarely. */
const FRESH_MS = 5_000

/** The constant part must answer while the register is unavailable. */
const WAIT_MS = 100

const lastAnomalies = oncePerContext(() => ({
  found: [] as readonly Static<typeof anomalies>[],
  readMs: Number.NEGATIVE_INFINITY,
}))

async function recentAnomalies(ctx: Context): Promise<readonly Static<typeof anomalies>[]> {
  const { register, ecosystem, clock } = ctx
  const last = lastAnomalies(ctx)
  if (Math.abs(clock() - last.readMs) < FRESH_MS) return last.found
  last.readMs = clock()
  const read = async () => {
    last.found = await register.snapshot((reads) => readMappingAnomalies(reads, ecosystem))
  }
  await Promise.race([read().catch(() => undefined), sleep(WAIT_MS)])
  return last.found
}

function toServiceRecord(facts: ServiceFacts) {
  const { payment } = facts
  return {
    service: facts.name,
    version: facts.version,
    chains: facts.chains,
    tokens: facts.tokens,
    links: { trade: null, website: null, community: null, ...facts.links },
    metrics: listMetrics(facts),
    tiers: facts.tiers,
    limits: {
      limitMaximum: 100,
      periodDaysMaximum: 3_650,
      bodyBytesMaximum: 8_192,
      activeKeysPerWallet: 10,
      quotaReset: '00:00 UTC',
    },
    pricing: payment && {
      perCallUsd: facts.pricePerCallUsd,
      network: payment.network,
      asset: payment.asset,
      assetSymbol: payment.symbol,
      payTo: payment.payTo,
      confirmations: payment.confirmations,
      docs: facts.pricingDocsUrl,
    },
    notConfigured: facts.notConfigured,
  }
}

export function listMetrics({ notConfigured }: ServiceFacts): readonly string[] {
  const isThere = ({ part }: Metric) => part === undefined || !notConfigured.includes(part)
  return [...metrics].filter(([, metric]) => isThere(metric)).map(([name]) => name)
}
