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

/** Files that are not served stay as words. */
function relinked(text: string): string {
  return text.replace(/\[([^\]]+)\]\((?![a-z]+:)([^)]*)\)/g, (_, label: string, target: string) => {
    const [, folder = '', name = '', anchor = ''] =
      /^(errors\/)?([a-z_-]+)\.md(#.*)?$/.exec(target) ?? []
    if (folder !== '') return `[${label}](/problems/${name})`
    return Object.hasOwn(GUIDES, name) ? `[${label}](/docs/${name}${anchor})` : label
  })
}
