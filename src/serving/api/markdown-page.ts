import { preferredType } from '#serving/http/accept.ts'
import type { Incoming, Outgoing } from '#serving/http/exchange.ts'
import { HTML_TYPE, PLAIN_POLICY, plainPage } from '#serving/http/plain-page.ts'

const MARKDOWN_TYPE = 'text/markdown; charset=utf-8'

const CACHED = 'private, max-age=300'

/** Browsers download Markdown, so they get it as HTML. */
export async function markdownAnswer(
  { headers: { accept } }: Incoming,
  text: string,
): Promise<Outgoing> {
  const type = preferredType(accept, [MARKDOWN_TYPE, HTML_TYPE])
  const headers = ['Content-Type', type, 'Cache-Control', CACHED]
  if (type === MARKDOWN_TYPE) return { status: 200, headers, body: text }
  headers.push('Content-Security-Policy', PLAIN_POLICY)
  let page = pages.get(text)
  if (page === undefined) {
    page = makePage(text)
    pages.set(text, page)
    page.catch(() => pages.delete(text))
  }
  return { status: 200, headers, body: await page }
}

/** Each text is parsed once: the longest takes milliseconds, and there are few. */
const pages = new Map<string, Promise<string>>()

async function makePage(text: string): Promise<string> {
  const { marked } = await import('marked')
  const title = text.slice(2).split('\n')[0] ?? ''
  return plainPage(title, await marked.parse(text))
}
