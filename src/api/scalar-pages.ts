import Fastify from 'fastify'
import { escapeMarkup } from '#base/text.ts'
import type { Page } from './outside-routes.ts'
import type { ServiceFacts } from './service-facts.ts'
import { staticPage } from './static-page.ts'

/** Allows this server only, and no framing; Scalar needs inline styles. */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self' 'unsafe-inline'",
  "img-src 'self' data: blob:",
  "font-src 'self' data:",
  "connect-src 'self'",
  "worker-src 'self' blob:",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ')

const HEADERS = [
  'Content-Security-Policy',
  POLICY,
  'Referrer-Policy',
  'no-referrer',
  'X-Frame-Options',
  'DENY',
]

/** Serves the interactive documentation at /scalar/v1, without external files. */
export function scalarPages(facts: Pick<ServiceFacts, 'name'>): readonly Page[] {
  const html = 'text/html; charset=utf-8'
  const script = 'text/javascript; charset=utf-8'
  return [
    staticPage({
      path: '/scalar/v1',
      contentType: html,
      text: writeDocument(facts.name),
      headers: HEADERS,
    }),
    staticPage({ path: '/scalar/v1/start.js', contentType: script, text: START }),
    staticPage({ path: '/scalar/v1/scalar.js', contentType: script, text: readScript }),
  ]
}

/**
 * Scalar exposes its script only through its Fastify plugin, so inject a request into a server that
 * never listens.
 */
export async function readScript(): Promise<string> {
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
