import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Marked } from 'marked'
import type { Page } from '#api/outside-routes.ts'
import { HTML_TYPE, PLAIN_POLICY, plainPage } from '#api/plain-page.ts'
import { PACKAGE_ROOT } from '#base/package-root.ts'
import { refuse } from '#base/refusal.ts'
import { type Call, type Outgoing, preferredType } from '#route.ts'

const MARKDOWN_TYPE = 'text/markdown; charset=utf-8'

const CACHED = 'private, max-age=300'

interface Forms {
  readonly markdown: string
  readonly html: string
}

/** Serves the Markdown files of a folder, each read once; browsers would download Markdown, so they get HTML. */
export function markdownFiles(folder: string, change = (text: string): string => text) {
  const files = new Map<string, Promise<Forms>>()
  return async ({ headers: { accept } }: Call, name: string): Promise<Outgoing> => {
    const made = files.get(name) ?? read(join(folder, `${name}.md`), change)
    files.set(name, made)
    made.catch(() => files.delete(name))
    const { markdown, html } = await made
    const type = preferredType(accept, [MARKDOWN_TYPE, HTML_TYPE])
    const headers = ['Content-Type', type, 'Cache-Control', CACHED]
    if (type === MARKDOWN_TYPE) return { status: 200, headers, body: markdown }
    headers.push('Content-Security-Policy', PLAIN_POLICY)
    return { status: 200, headers, body: html }
  }
}

async function read(path: string, change: (text: string) => string): Promise<Forms> {
  const markdown = change(await readFile(path, 'utf8'))
  const marked = new Marked({
    renderer: {
      heading({ tokens, depth, text }) {
        return `<h${depth} id="${toAnchor(text)}">${this.parser.parseInline(tokens)}</h${depth}>\n`
      },
    },
  })
  const title = markdown.slice(2).split('\n')[0] ?? ''
  return { markdown, html: plainPage(title, await marked.parse(markdown)) }
}

/** Makes anchors as GitHub does, so that links work in both places. */
export function toAnchor(heading: string): string {
  return heading
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N} _-]/gu, '')
    .replaceAll(' ', '-')
}

/** Pages of `docs/` that callers read. */
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
      return refuse('not_found', `no such guide; there are ${Object.keys(GUIDES).join(', ')}`)
    },
  }
}

/** Turns links between files of `docs/` into links to their pages; links to files that are not served become plain text. */
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
