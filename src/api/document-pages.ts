import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import Fastify from 'fastify'
import { liveExamples } from '#api/examples.ts'
import {
  describeService,
  getServiceFacts,
  listMetrics,
  type ServiceFacts,
} from '#api/meta-route.ts'
import { TOPUP, toOpenApi } from '#api/openapi.ts'
import {
  GUIDES,
  guidePage,
  HTML_TYPE,
  jsonPage,
  linkToPages,
  markdownPage,
  type Page,
  scriptedHeaders,
  staticPage,
} from '#api/pages.ts'
import { TtlCache } from '#base/async.ts'
import { PACKAGE_ROOT } from '#base/package-root.ts'
import { REFUSALS } from '#base/refusal.ts'
import { escapeMarkup } from '#base/text.ts'
import type { Context } from '#context.ts'
import { eventKinds } from '#data/kinds.ts'
import { PREPAYMENT_MESSAGES } from '#payments/prepayments/prepay-routes.ts'
import { JSON_TYPE, type Route, TEXT_TYPE } from '#route.ts'

/** Age of live examples; a document may lack some while a store is slow. */
const EXAMPLES_MS = 60_000

const SCRIPT_TYPE = 'text/javascript; charset=utf-8'

/** OpenAPI, interactive docs, /llms.txt and error pages. */
export function documentPages(ctx: Context, routes: readonly Route[]): readonly Page[] {
  const facts = getServiceFacts(ctx)
  const built = new TtlCache<object>({ max: 1, ttlMs: EXAMPLES_MS, clock: ctx.clock })
  const openapi = jsonPage('/openapi.json', 300, () =>
    built.get('', async () => toOpenApi(ctx, routes, await liveExamples(routes))),
  )
  return [
    openapi,
    { ...openapi, path: '/openapi/v1.json' },
    staticPage('/llms.txt', TEXT_TYPE, llmsText(facts, routes)),
    ...discoveryPages(facts, routes),
    staticPage('/scalar/v1', HTML_TYPE, writeDocument(facts.name), HEADERS),
    staticPage('/scalar/v1/start.js', SCRIPT_TYPE, START),
    staticPage('/scalar/v1/scalar.js', SCRIPT_TYPE, readScript),
    problemPage(),
    guidePage(facts.publicBaseUrl),
    // Deno finds the types by the header.
    staticPage('/client.js', SCRIPT_TYPE, readClient('client.js'), {
      'X-TypeScript-Types': '/client.d.ts',
    }),
    staticPage('/client.d.ts', 'application/typescript; charset=utf-8', readClient('client.d.ts')),
  ]
}

/** Paths that x402 crawlers look for; present where payments are settled. */
function discoveryPages(facts: ServiceFacts, routes: readonly Route[]): readonly Page[] {
  const topup = routes.find(({ operationId }) => operationId === TOPUP)
  if (topup === undefined) return []
  const { publicBaseUrl } = facts
  const metered = routes.filter((route) => route.metered)
  const text = JSON.stringify({
    version: 1,
    // The top-up answers 402 whenever it is unpaid; data is free until the daily quota is used up.
    resources: [topup, ...metered].map(({ path }) => `${publicBaseUrl}${path}`),
    openapi: `${publicBaseUrl}/openapi.json`,
    mcp: `${publicBaseUrl}/mcp`,
    instructions: `${publicBaseUrl}/llms.txt`,
  })
  return [staticPage('/.well-known/x402', JSON_TYPE, text)]
}

/** Writes the service overview for language models (llmstxt.org). */
function llmsText(facts: ServiceFacts, routes: readonly Route[]): string {
  const missing = eventKinds.filter(({ part }) => facts.notConfigured.includes(part))
  const present = routes.filter((route) => !missing.some(({ tag }) => tag.name === route.tag))
  const lines = present.map((route) => {
    const names = Object.entries(route.parameters).filter(([, each]) => each.in === 'query')
    const query = names.length === 0 ? '' : `?${names.map(([name]) => `${name}=`).join('&')}`
    return `- \`${route.method} ${route.path}${query}\`: ${route.summary}`
  })
  return `# ${facts.name} API

> On-chain history and statistics of a token ecosystem. Base address: ${facts.publicBaseUrl}

- [OpenAPI 3.1 document](${facts.publicBaseUrl}/openapi.json)
- [Interactive documentation](${facts.publicBaseUrl}/scalar/v1)
- [Chains, tokens, limits and prices as JSON](${facts.publicBaseUrl}/api/meta)
- [Typed client as one module](${facts.publicBaseUrl}/client.js)
${Object.entries(GUIDES)
  .map(([name, title]) => `- [${title}](${facts.publicBaseUrl}/docs/${name})`)
  .join('\n')}

## Endpoints

${lines.join('\n')}

## Metrics and periods

\`metric\` of \`/api/stats/history\` is one of ${listMetrics(facts).join(', ')}. \`period\` is \`1d\` to \`3650d\`, or \`all\`.

${describeService(facts)}
${payingText(facts, routes)}`
}

/** Explains to an agent how to pay with a wallet alone; empty where payments are not settled. */
function payingText(facts: ServiceFacts, routes: readonly Route[]): string {
  const { payment, publicBaseUrl } = facts
  const settles = routes.some(({ operationId }) => operationId === TOPUP)
  if (payment === null || !settles) return ''
  return `
## Pay with a wallet and no key

1. Call a data endpoint. Until the daily quota of your address is used up, it answers 200 and costs nothing.
2. Then it answers 402. Its header \`PAYMENT-REQUIRED\` is base64 of an x402 v2 offer: scheme \`exact\`, smallest sum first.
3. Sign one of the offers as an EIP-3009 authorization of ${payment.assetSymbol} on ${payment.network}; you need no gas.
4. Repeat the call with base64 of the PaymentPayload in the header \`PAYMENT-SIGNATURE\`. Stock x402 clients do 2 to 4 by themselves.
5. The service settles the payment, answers 200 and returns the result in \`PAYMENT-RESPONSE\`.
6. The call costs ${payment.perCallUsd} USD; the rest stays as balance of your address and pays the next calls.
7. The balance belongs to the address you call from. If that changes, mint a key and top it up.
8. On 503 \`settlement_pending\` repeat the same payment; never sign a second one. On 409 it was used already.
9. To pay ahead, call ${publicBaseUrl}/api/sessions/topup?usd=0.1, which always answers 402.
10. Over MCP (${publicBaseUrl}/mcp) the offer is the result of the tool, and the payload goes into \`_meta["x402/payment"]\`.
`
}

const readClient = (name: string) => () => readFile(join(PACKAGE_ROOT, 'dist/client', name), 'utf8')

/** The `type` of every error body, and what a prepayment's message means. */
export function problemPage(): Page {
  const names = [...Object.keys(REFUSALS), ...PREPAYMENT_MESSAGES]
  const files = { names, missing: 'there is no such code' }
  return markdownPage('/problems/{code}', join(PACKAGE_ROOT, 'docs/errors'), files, (text) =>
    linkToPages(text, '/docs/errors/'),
  )
}

/** Scalar needs inline styles. */
const HEADERS = scriptedHeaders({
  'style-src': "'self' 'unsafe-inline'",
  'img-src': "'self' data: blob:",
  'font-src': "'self' data:",
  'worker-src': "'self' blob:",
})

/**
 * Scalar exposes its script only through its Fastify plugin, so inject a request into a server that
 * never listens.
 */
async function readScript(): Promise<string> {
  const { default: scalar } = await import('@scalar/fastify-api-reference')
  const app = Fastify()
  await app.register(scalar, { routePrefix: '/docs', configuration: { content: {} } })
  const response = await app.inject('/docs/js/scalar.js')
  await app.close()
  if (response.statusCode !== 200) throw new Error('the script of the documentation is missing')
  return response.body
}

function writeDocument(name: string): string {
  const title = escapeMarkup(name)
  return `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <title>${title} API</title>
    <link rel="icon" href="data:,">
  </head>
  <body>
    <div id="app"></div>
    <noscript>The documentation is drawn by a script; <a href="/openapi.json">/openapi.json</a> has all of it.</noscript>
    <script src="/scalar/v1/scalar.js"></script>
    <script src="/scalar/v1/start.js"></script>
  </body>
</html>
`
}

/** Raises contrast to 4.5:1, and removes boxes that only a pointer can scroll. */
const STYLE = `
.light-mode { --scalar-color-2: #5a5a5a; --scalar-color-3: #666; --scalar-color-blue: #0067a8 }
.dark-mode { --scalar-color-3: #9a9a9a }
code.custom-scroll { overflow: visible !important }
code.custom-scroll, code.custom-scroll * { white-space: pre-wrap !important; overflow-wrap: anywhere !important }
`

/**
 * Requests go to the serving origin, behind any proxy, and nothing external is fetched. Scalar
 * drops the anchor of an introduction heading such as `#pricing`; restore it after rendering.
 */
const START = `const wanted = decodeURIComponent(location.hash.slice(1))
Scalar.createApiReference('#app', {
  url: '/openapi.json',
  servers: [{ url: location.origin }],
  proxyUrl: '',
  withDefaultFonts: false,
  telemetry: false,
  hideClientButton: true,
  showDeveloperTools: 'never',
  agent: { disabled: true },
  mcp: { disabled: true },
  persistAuth: false,
  generateHeadingSlug: (heading) => heading.slug,
  customCss: ${JSON.stringify(STYLE)},
})
if (/^[a-z-]+$/.test(wanted)) {
  const watch = new MutationObserver(() => {
    const heading = document.getElementById(wanted)
    if (heading === null) return
    watch.disconnect()
    setTimeout(() => heading.scrollIntoView(), 300)
  })
  watch.observe(document.body, { childList: true, subtree: true })
}
`
