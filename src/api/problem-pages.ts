import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { REFUSALS, refuse } from '#domain/refusal.ts'
import { preferredType } from '#http/accept.ts'
import { PACKAGE_ROOT } from '#lib/package-root.ts'
import type { Page } from './outside-routes.ts'

const FOLDER = join(PACKAGE_ROOT, 'docs/errors')

const MARKDOWN = 'text/markdown; charset=utf-8'
const HTML = 'text/html; charset=utf-8'

const CACHED = 'private, max-age=300'

/** GET /problems/{code}, the `type` of every error body. */
export function problemPage(): Page {
  const pages = new Map<string, Promise<string>>()
  return {
    path: '/problems/{code}',
    async read(incoming) {
      const code = incoming.path.code ?? ''
      if (!Object.hasOwn(REFUSALS, code)) return refuse('not_found', 'unknown error code')
      const text = await remembered(pages, code)
      const type = preferredType(incoming.headers.accept, [MARKDOWN, HTML])
      const headers = ['Content-Type', type, 'Cache-Control', CACHED]
      return { status: 200, headers, body: type === HTML ? toHtml(text) : text }
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

/** Browsers download Markdown, so they get it inside HTML. */
function toHtml(text: string): string {
  const safe = text.replace(/[&<>]/g, (character) => `&#${character.charCodeAt(0)};`)
  return `<!doctype html><html lang="en"><meta charset="utf-8"><title>${safe.slice(2).split('\n')[0]}</title><pre>${safe}</pre></html>`
}
