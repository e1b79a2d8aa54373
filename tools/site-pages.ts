import { glob, readFile } from 'node:fs/promises'
import { join, posix } from 'node:path'
import manifest from '../package.json' with { type: 'json' }

const ROOT = join(import.meta.dirname, '..')
const REPOSITORY = manifest.repository.url.replace(/^git\+|\.git$/g, '')

/** Pages of the site that do not come from `docs/`. */
const ELSEWHERE: Readonly<Record<string, string>> = {
  'README.md': 'index.md',
  'CHANGELOG.md': 'changelog.md',
  'CONTRIBUTING.md': 'contributing.md',
  'SECURITY.md': 'security.md',
  'client/README.md': 'client.md',
}

/** What stands beside each page, in the order of reading; folders list what they hold. */
const MENU: Readonly<Record<string, readonly string[]>> = {
  'Call the API': ['call-it', 'first-chart', 'contract', 'limits', 'webhooks', 'client'],
  'Run it for your token': [
    ...['first-ecosystem', 'ecosystem-file', 'mappings-as-code', 'take-payments'],
    ...['providers', 'listing'],
  ],
  'Operate it': ['production', 'runbook', 'metrics', 'upgrade', 'changelog', 'security'],
  'Change it': ['contributing', 'architecture', 'glossary', 'dependencies', 'guides/'],
  'Why it is as it is': ['decisions/'],
  Errors: ['errors/'],
}

export interface SitePage {
  /** Below the site's root, such as `decisions/page.md`. */
  readonly path: string
  readonly title: string
  readonly text: string
}

/** Every page of the site, with links that lead to pages of the site or into the repository. */
export async function readSitePages(): Promise<readonly SitePage[]> {
  const docs = await Array.fromAsync(glob('docs/**/*.md', { cwd: ROOT }))
  const sources = [...Object.keys(ELSEWHERE), ...docs].sort()
  const paths = new Map(sources.map((source) => [source, pathOf(source)]))
  return Promise.all(
    [...paths].map(async ([source, path]) => {
      const text = relink(await readFile(join(ROOT, source), 'utf8'), source, paths)
      return { path, text, title: /^# (.*)$/m.exec(text)?.[1] ?? path }
    }),
  )
}

function pathOf(source: string): string {
  return ELSEWHERE[source] ?? source.replace(/^docs\//, '').replace(/README\.md$/, 'index.md')
}

function relink(text: string, source: string, paths: ReadonlyMap<string, string>): string {
  return text.replace(/\]\(([^()\s#]+)(#[^()\s]*)?\)/g, (whole, target: string, anchor = '') => {
    if (/^[a-z]+:/.test(target)) return whole
    const named = posix.join(posix.dirname(source), target)
    if (named.startsWith('docs/images/')) return `](${named.replace('docs', '')})`
    const page = paths.get(named)
    if (page === undefined) return `](${REPOSITORY}/blob/main/${named}${anchor})`
    const from = posix.dirname(paths.get(source) ?? '')
    const relative = posix.relative(from, page)
    return `](${relative.startsWith('.') ? relative : `./${relative}`}${anchor})`
  })
}

interface MenuGroup {
  readonly text: string
  readonly collapsed: boolean
  readonly items: readonly { readonly text: string; readonly link: string }[]
}

/** As VitePress takes it. */
export function menuOf(pages: readonly SitePage[]): readonly MenuGroup[] {
  return Object.entries(MENU).map(([text, names]) => ({
    text,
    collapsed: names.some((name) => name.endsWith('/')),
    items: names.flatMap((name) =>
      pages
        .filter(({ path }) => (name.endsWith('/') ? path.startsWith(name) : path === `${name}.md`))
        .map(({ path, title }) => ({ text: title, link: `/${path.replace(/\.md$/, '')}` })),
    ),
  }))
}
