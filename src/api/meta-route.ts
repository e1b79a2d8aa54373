import { type Static, Type } from 'typebox'
import { GUIDES } from '#api/pages.ts'
import { showAddress } from '#base/address.ts'
import { sleep, TtlCache } from '#base/async.ts'
import { formatDecimal } from '#base/money.ts'
import { VERSION } from '#base/package-root.ts'
import { named, recordOf } from '#base/schema.ts'
import { joinWords } from '#base/text.ts'
import { tiers } from '#base/tier.ts'
import { type Context, oncePerContext } from '#context.ts'
import { eventKinds } from '#data/kinds.ts'
import { readMappingAnomalies } from '#data/mappings.ts'
import { notConfiguredSchema } from '#data/meta.ts'
import { type Metric, metrics } from '#data/stats/history.ts'
import { type Ecosystem, notConfigured } from '#ecosystem/ecosystem.ts'
import { currentPayTo, describeMinter } from '#payments/x402/offer.ts'
import { answer, defineRoute, type Route } from '#route.ts'

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

export const serviceShape = named('Service', {
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
  const facts = getServiceFacts(ctx)
  const { name, version, chains, tokens, tiers, payment, notConfigured } = facts
  const links = { trade: null, website: null, community: null, ...facts.links }
  const shown = { service: name, version, chains, tokens, links, metrics: listMetrics(facts) }
  const body = { ...shown, tiers, limits: LIMITS, pricing: payment, notConfigured }
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
    answers: { 200: { description: 'What this service offers', schema: serviceShape } },
    refusals: [],
    async handle() {
      return answer(200, { ...body, anomalies: await recentAnomalies(ctx) }, { headers: CACHED })
    },
  })
}

const LIMITS: Static<typeof serviceShape>['limits'] = {
  limitMaximum: 100,
  periodDaysMaximum: 3_650,
  bodyBytesMaximum: 8_192,
  activeKeysPerWallet: 10,
  quotaReset: '00:00 UTC',
}

/** The constant part must answer while the register is unavailable. */
const WAIT_MS = 100

/** Anomalies change rarely. */
const getCache = oncePerContext(
  ({ clock }) => new TtlCache<readonly Static<typeof anomalies>[]>({ clock, max: 1, ttlMs: 5_000 }),
)

async function recentAnomalies(ctx: Context): Promise<readonly Static<typeof anomalies>[]> {
  const read = getCache(ctx).get('', async () =>
    ctx.register.snapshot((reads) => readMappingAnomalies(reads, ctx.ecosystem)),
  )
  return (await Promise.race([read.catch(() => undefined), sleep(WAIT_MS)])) ?? []
}

export function listMetrics({ notConfigured }: ServiceFacts): readonly string[] {
  const isThere = ({ part }: Metric) => part === undefined || !notConfigured.includes(part)
  return [...metrics].filter(([, metric]) => isThere(metric)).map(([name]) => name)
}

/** What documents and `/api/meta` say about this service. */
export const getServiceFacts = oncePerContext(({ ecosystem, clock }) => {
  const { service, payment } = ecosystem
  return {
    ...service,
    version: VERSION,
    chains: ecosystem.chains.map(({ name, id, explorerUrl }) => ({
      name,
      chainId: id,
      caip2: `eip155:${id}`,
      explorerUrl,
    })),
    tokens: ecosystem.tokens.map(({ symbol, name, role, decimals, addresses }) => ({
      symbol,
      name,
      role,
      decimals,
      addresses: Object.fromEntries(
        [...addresses].map(([chain, address]) => [chain, showAddress(address)]),
      ),
    })),
    tiers: listTiers(ecosystem),
    mintsKeys: ecosystem.gate !== null,
    payment: payment && {
      perCallUsd: formatDecimal(ecosystem.pricePerCall, 6),
      network: payment.chain.name,
      asset: showAddress(payment.asset),
      assetSymbol: payment.symbol,
      payTo: showAddress(currentPayTo({ ecosystem, clock })),
      confirmations: payment.confirmations,
      docs: service.pricingDocsUrl,
    },
    notConfigured: notConfigured(ecosystem),
  }
})

export type ServiceFacts = ReturnType<typeof getServiceFacts>

function listTiers(ecosystem: Ecosystem) {
  return tiers.flatMap(({ name, needs }) => {
    const tier = { tier: name, dailyQuota: ecosystem.quotas[name] }
    if (needs === 'nothing') return [{ ...tier, requires: 'nothing; counted per address' }]
    if (ecosystem.gate === null) return []
    if (needs === 'key') {
      const requires = `an API key, minted by ${describeMinter(ecosystem)}`
      return [{ ...tier, requires }]
    }
    const share = ecosystem[name]
    if (share === null) return []
    const { supplyPerMille, token } = share
    const requires = `an API key of a wallet with ${supplyPerMille / 10}% of the supply of ${token.symbol}`
    return [{ ...tier, requires }]
  })
}

/** Markdown introduction of the documentation; its headings are anchors. */
export function describeService(facts: ServiceFacts): string {
  return [
    `Public REST API for the on-chain history and statistics of a token ecosystem: ${listSubjects(facts)}. Anyone can call it without a key.`,
    quickStart(facts),
    guides(facts),
    conventions(facts),
    quotas(facts),
    ...(facts.payment === null ? [] : [pricing(facts.payment)]),
  ].join('\n\n')
}

function listSubjects({ notConfigured }: ServiceFacts): string {
  const configured = eventKinds.filter(({ part }) => !notConfigured.includes(part))
  return joinWords([...configured.map(({ noun }) => noun), 'holders', 'prices'], 'and')
}

function quickStart({ publicBaseUrl, keyPrefix, mintsKeys, notConfigured }: ServiceFacts): string {
  const lines = [
    `curl ${publicBaseUrl}/api/stats`,
    notConfigured.includes('burns')
      ? `curl '${publicBaseUrl}/api/stats/history?metric=holders&period=7d'`
      : `curl '${publicBaseUrl}/api/burns?period=7d'`,
    mintsKeys
      ? `curl -H 'Authorization: Bearer ${keyPrefix}_0123abcd_...' ${publicBaseUrl}/api/usage`
      : `curl ${publicBaseUrl}/api/usage`,
  ]
  return `## Quick start

\`\`\`sh
${lines.join('\n')}
\`\`\``
}

function guides({ publicBaseUrl }: ServiceFacts): string {
  const links = Object.entries(GUIDES).map(
    ([name, title]) => `[${title}](${publicBaseUrl}/docs/${name})`,
  )
  return `Guides: ${links.join(', ')}. A typed client for browsers, Node and Deno is at [/client.js](${publicBaseUrl}/client.js). [The register](${publicBaseUrl}/) shows the figures to people, [the status](${publicBaseUrl}/status) how the service is.`
}

function conventions({ chains }: ServiceFacts): string {
  return `## Conventions

- Data endpoints answer \`{ "data": ..., "meta": ... }\`. \`meta.asOf\` says how fresh the data is, \`meta.query\` which parameters were in force, \`meta.notConfigured\` which optional parts are missing; their endpoints answer with zeros and empty lists.
- Token amounts come twice: \`amount\` as a decimal string in whole tokens, \`amountRaw\` as an integer string in base units. A missing USD price is \`null\`, never 0.
- Chains are named in lower case (\`${chains[0]?.name ?? 'base'}\`); requests may also use the id or CAIP-2. Tokens are named by symbol or address.
- Lists are newest first and go on with \`cursor\`. Series and lists can be had as CSV with \`format=csv\`.
- Errors are \`application/problem+json\` with a stable code in \`error\`; the page at \`type\` explains each. An ETag sent back in \`If-None-Match\` makes an unchanged answer a free 304.`
}

function quotas({ tiers, mintsKeys, payment }: ServiceFacts): string {
  const rows = tiers.map(
    ({ tier, dailyQuota, requires }) => `| ${tier} | ${dailyQuota} | ${requires} |`,
  )
  const notes = [
    'Only data calls answered 2xx count; errors and 304 are free. Every response says where you stand in `X-RateLimit-Limit`, `-Remaining`, `-Reset` and `-Tier`; `GET /api/usage/history` shows earlier days and usage per key.',
  ]
  if (mintsKeys)
    notes.push(
      'A key is minted with a wallet signature (`POST /api/keys`); all keys of a wallet share its quota.',
    )
  if (payment === null)
    notes.push('Beyond the daily quota a data call answers 429 `quota_exceeded` until 00:00 UTC.')
  return `## Quotas

| Tier | Calls per UTC day | Needs |
|---|---|---|
${rows.join('\n')}

${notes.join(' ')}`
}

function pricing(payment: NonNullable<ServiceFacts['payment']>): string {
  const { perCallUsd, assetSymbol: symbol } = payment
  const perDollar = Math.floor(1 / Number(perCallUsd))
  return `## Pricing

Calls beyond the daily quota cost **${perCallUsd} USD each** (${perDollar} calls per 1 USD), paid in advance in ${symbol} on ${payment.network}. There is no subscription and no card.

1. Send ${symbol} (\`${payment.asset}\` on ${payment.network}) from the wallet that owns the key to \`${payment.payTo}\`.
2. Register the transaction for a key of yours with \`POST /api/sessions/prepay\`; the balance belongs to the key.
3. After ${payment.confirmations} blocks the balance of the key is credited; calls then go on without a 402 until it is empty.

Without quota and balance a data call answers 402 with the payment options.
`
}
