import { HTML_TYPE, PLAIN_POLICY, plainPage, tableOf } from '#api/plain-page.ts'
import { escapeMarkup } from '#lib/markup.ts'
import { JSON_TYPE, wantsPage } from '#route/media.ts'
import type { HealthDeps } from './health-routes.ts'
import type { Page } from './outside-routes.ts'

/** GET /status: what `/readyz` says, always with 200 and for browsers as a page. */
export function statusPage({ readiness }: HealthDeps, name: string): Page {
  return {
    path: '/status',
    async read({ headers: { accept } }) {
      const { ready, parts } = await readiness()
      const isPage = wantsPage(accept)
      const headers = ['Content-Type', isPage ? HTML_TYPE : JSON_TYPE, 'Cache-Control', 'no-store']
      if (!isPage) return { status: 200, headers, body: JSON.stringify({ ready, parts }) }
      headers.push('Content-Security-Policy', PLAIN_POLICY)
      const title = ready ? 'Data is served' : 'Some data cannot be served right now'
      const content = `<h1>${title}</h1>
<p>Chains with their last block, nodes and jobs of ${escapeMarkup(name)}, as of now. Programs get the same as JSON, and <a href="/readyz">/readyz</a> answers 503 when data cannot be served.</p>
${tableOf(Object.entries(parts))}`
      return { status: 200, headers, body: plainPage(title, content) }
    },
  }
}
