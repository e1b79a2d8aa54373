import { join } from 'node:path'
import { REFUSALS, refuse } from '#domain/refusal.ts'
import { PACKAGE_ROOT } from '#lib/package-root.ts'
import { PREPAYMENT_MESSAGES } from '#money/payments/prepayment-record.ts'
import { relinked } from './guide-pages.ts'
import { markdownFiles } from './markdown-page.ts'
import type { Page } from './outside-routes.ts'

const FOLDER = join(PACKAGE_ROOT, 'docs/errors')

const CODES = new Set([...Object.keys(REFUSALS), ...PREPAYMENT_MESSAGES])

/** GET /problems/{code}: the `type` of every error body, and what a prepayment's message means. */
export function problemPage(): Page {
  const answer = markdownFiles(FOLDER, (text) => relinked(text, '/docs/errors/'))
  return {
    path: '/problems/{code}',
    async read(incoming) {
      const code = incoming.path.code ?? ''
      return CODES.has(code) ? answer(incoming, code) : refuse('not_found', 'unknown error code')
    },
  }
}
