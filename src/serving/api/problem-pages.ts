import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { REFUSALS, refuse } from '#domain/refusal.ts'
import { escapeMarkup } from '#lib/markup.ts'
import { PACKAGE_ROOT } from '#lib/package-root.ts'
import { PREPAYMENT_MESSAGES } from '#money/payments/prepayment-record.ts'
import { preferredType } from '#serving/http/accept.ts'
import type { Page } from './outside-routes.ts'
import { staticPage } from './static-page.ts'

const FOLDER = join(PACKAGE_ROOT, 'docs/errors')

const MARKDOWN = 'text/markdown; charset=utf-8'
const HTML = 'text/html; charset=utf-8'

const POLICY = "default-src 'none'; style-src 'self'; img-src 'self'; frame-ancestors 'none'"

const CACHED = 'private, max-age=300'

export function problemStyle(): Page {
  return staticPage({
    path: '/problems/style.css',
    contentType: 'text/css; charset=utf-8',
    text: STYLE,
  })
}

const CODES = new Set([...Object.keys(REFUSALS), ...PREPAYMENT_MESSAGES])

/** GET /problems/{code}: the `type` of every error body, and what a prepayment's message means. */
export function problemPage(): Page {
  const pages = new Map<string, Promise<string>>()
  return {
    path: '/problems/{code}',
    async read(incoming) {
      const code = incoming.path.code ?? ''
      if (!CODES.has(code)) return refuse('not_found', 'unknown error code')
      const text = await remembered(pages, code)
      const type = preferredType(incoming.headers.accept, [MARKDOWN, HTML])
      const headers = ['Content-Type', type, 'Cache-Control', CACHED]
      if (type === MARKDOWN) return { status: 200, headers, body: text }
      headers.push('Content-Security-Policy', POLICY)
      return { status: 200, headers, body: await toHtml(text) }
    },
  }
}

/** Reads on first request; a failed read is retried. */
function remembered(pages: Map<string, Promise<string>>, code: string): Promise<string> {
  let text = pages.get(code)
  if (text === undefined) {
    text = readFile(join(FOLDER, `${code}.md`), 'utf8')
    pages.set(code, text)
    text.catch(() => pages.delete(code))
  }
  return text
}

/** Browsers download Markdown, so they get it as HTML. */
async function toHtml(text: string): Promise<string> {
  const { marked } = await import('marked')
  const title = text.slice(2).split('\n')[0] ?? ''
  return `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <title>${escapeMarkup(title)}</title>
    <link rel="icon" href="/favicon.ico" type="image/svg+xml">
    <link rel="stylesheet" href="/problems/style.css">
  </head>
  <body>
    <main>${await marked.parse(text)}</main>
    <p><a href="/">The register</a> <a href="/scalar/v1">Documentation</a></p>
  </body>
</html>
`
}

const STYLE = `:root { color-scheme: light dark }
body { font: 18px/1.5 Georgia, serif; max-width: 44rem; margin: 3rem auto; padding: 0 1rem;
  background: light-dark(#f5f6f2, #0f1412); color: light-dark(#17201c, #e9ede6) }
h1 { font-size: 1.6rem; line-height: 1.2 }
h2 { font-size: 1.2rem }
a { color: inherit }
p > a + a { margin-left: 1rem }
code, pre { font: 0.85em ui-monospace, monospace; background: light-dark(#e9ece6, #202824) }
pre { padding: 1rem; white-space: pre-wrap; overflow-wrap: anywhere }
table { border-collapse: collapse }
td, th { padding: 0.3rem 0.8rem 0.3rem 0; text-align: left; border-bottom: 1px solid light-dark(#d3d9d2, #2a332e) }
`
