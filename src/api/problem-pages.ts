import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { REFUSALS, type RefusalCode, refuse } from '#domain/refusal.ts'
import type { Page } from './outside-routes.ts'

const FOLDER = join(import.meta.dirname, '../../docs/errors')

const CACHED = 'private, max-age=300'

/** GET /problems/{code}: the page that the `type` of every error body names. */
export async function problemPage(): Promise<Page> {
  const codes = Object.keys(REFUSALS) as RefusalCode[]
  const texts = await Promise.all(codes.map((code) => readFile(join(FOLDER, `${code}.md`), 'utf8')))
  const pages = new Map<string, string>(codes.map((code, index) => [code, texts[index] ?? '']))
  return {
    path: '/problems/{code}',
    async read(incoming) {
      const text = pages.get(incoming.path.code ?? '')
      if (text === undefined) return refuse('not_found', 'there is no such error code')
      const asHtml = String(incoming.headers.accept ?? '').includes('text/html')
      const type = asHtml ? 'text/html' : 'text/markdown'
      const headers = ['Content-Type', `${type}; charset=utf-8`, 'Cache-Control', CACHED]
      return { status: 200, headers, body: asHtml ? toHtml(text) : text }
    },
  }
}

/** A browser would offer Markdown for download, so it gets the same text inside a page. */
function toHtml(text: string): string {
  const safe = text.replace(/[&<>]/g, (character) => `&#${character.charCodeAt(0)};`)
  return `<!doctype html><html lang="en"><meta charset="utf-8"><title>${safe.slice(2).split('\n')[0]}</title><pre>${safe}</pre></html>`
}
