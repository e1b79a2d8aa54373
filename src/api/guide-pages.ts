import { join } from 'node:path'
import { refuse } from '#domain/refusal.ts'
import { PACKAGE_ROOT } from '#lib/package-root.ts'
import { markdownFiles } from './markdown-page.ts'
import type { Page } from './outside-routes.ts'

/** What callers read, from `docs/`. */
export const GUIDES = {
  'first-chart': 'A first chart in ten lines',
  contract: 'What the service promises',
  limits: 'Limits of a key',
  webhooks: 'Webhooks',
} as const

/** GET /docs/{name} */
export function guidePage(publicBaseUrl: string): Page {
  const answer = markdownFiles(join(PACKAGE_ROOT, 'docs'), (text) =>
    relinked(text.replaceAll('https://api.example', publicBaseUrl)),
  )
  return {
    path: '/docs/{name}',
    async read(incoming) {
      const name = incoming.path.name ?? ''
      if (Object.hasOwn(GUIDES, name)) return answer(incoming, name)
      return refuse('not_found', `the guides are ${Object.keys(GUIDES).join(', ')}`)
    },
  }
}

/** Links between files of `docs/` lead to their pages; those to files that are not served stay as words. */
export function relinked(text: string, folder = '/docs/'): string {
  return text.replace(
    /\[([^\]]+)\]\((?![a-z]+:|#)([^)]*)\)/g,
    (_, label: string, target: string) => {
      const { pathname, hash } = new URL(target, `file://${folder}`)
      const [, errors, name = ''] = /^\/docs\/(errors\/)?([a-z_-]+)\.md$/.exec(pathname) ?? []
      if (errors !== undefined) return `[${label}](/problems/${name})`
      return Object.hasOwn(GUIDES, name) ? `[${label}](/docs/${name}${hash})` : label
    },
  )
}
