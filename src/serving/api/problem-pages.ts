import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { REFUSALS, refuse } from '#domain/refusal.ts'
import { PACKAGE_ROOT } from '#lib/package-root.ts'
import { PREPAYMENT_MESSAGES } from '#money/payments/prepayment-record.ts'
import { markdownAnswer } from './markdown-page.ts'
import type { Page } from './outside-routes.ts'

const FOLDER = join(PACKAGE_ROOT, 'docs/errors')

const CODES = new Set([...Object.keys(REFUSALS), ...PREPAYMENT_MESSAGES])

/** GET /problems/{code}: the `type` of every error body, and what a prepayment's message means. */
export function problemPage(): Page {
  const pages = new Map<string, Promise<string>>()
  return {
    path: '/problems/{code}',
    async read(incoming) {
      const code = incoming.path.code ?? ''
      if (!CODES.has(code)) return refuse('not_found', 'unknown error code')
      return markdownAnswer(incoming, await remembered(pages, code))
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
