import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import { Marked } from 'marked'
import { PACKAGE_ROOT } from '#base/package-root.ts'
import { type Refusal, refuse } from '#base/refusal.ts'
import { escapeMarkup } from '#base/text.ts'
import {
  acceptsCoding,
  type Call,
  matchesEtag,
  type Outgoing,
  preferredType,
  weakEtag,
} from '#route.ts'

/** An unmetered document: docs, OpenAPI, error pages. */
export interface Page {
  /** In OpenAPI form. */
  readonly path: string
  read(call: Call): Promise<Outgoing | Refusal>
}

/** Documents change with deployments only; after this an ETag revalidates. */
const CACHED = 'private, max-age=300'

export interface StaticContent {
  readonly path: string
  readonly contentType: string
  readonly text: string | (() => string | Promise<string>)
  /** Whether the built content may still be shown; always true if absent. */
  readonly isFresh?: () => boolean
  /** Alternating names and values. */
  readonly headers?: readonly string[]
}

/** Builds the text once and shares it among all answers. */
export function staticPage(content: StaticContent): Page {
  const { path, contentType, text, isFresh, headers = [] } = content
  const versions = new VersionedText()
  const build = async () => {
    const built = typeof text === 'string' ? text : await text()
    return { of: {}, name: path, text: () => built }
  }
  let made: ReturnType<typeof build> | undefined
  return {
    path,
    async read(call) {
      if (isFresh?.() === false) made = undefined
      made ??= build()
      const source = await made.catch((error: unknown) => {
        made = undefined
        throw error
      })
      const own = ['Content-Type', contentType, 'Cache-Control', CACHED, ...headers]
      return versions.answer(call, source, own)
    },
  }
}

interface Source {
  /** The text is built again when this object changes. */
  readonly of: object
  /** Distinguishes texts made from the same object. */
  readonly name: string
  text(): string
}

interface Version extends Pick<Source, 'of' | 'name'> {
  readonly text: string
  readonly etag: string
  gzipped?: Promise<Buffer>
}

/** Serves a text that changes now and then; writes and compresses each version once. */
export class VersionedText {
  #last: Version | undefined

  /** `headers` is copied; ETag, coding and body are added. */
  async answer(call: Call, source: Source, headers: readonly string[]): Promise<Outgoing> {
    const version = this.#versionOf(source)
    const { etag, text } = version
    const own = ['ETag', etag, ...headers]
    if (matchesEtag(call.headers['if-none-match'], etag))
      return { status: 304, headers: withoutType(own), body: '' }
    if (!acceptsCoding(call.headers['accept-encoding']?.toString(), 'gzip'))
      return { status: 200, headers: own, body: text }
    version.gzipped ??= promisify(gzip)(text)
    own.push('Content-Encoding', 'gzip')
    return { status: 200, headers: own, body: await version.gzipped }
  }

  #versionOf({ of, name, text: write }: Source): Version {
    if (this.#last?.of === of && this.#last.name === name) return this.#last
    const text = write()
    const etag = weakEtag(text)
    this.#last = { of, name, text, etag }
    return this.#last
  }
}

/** Drops body headers, which a 304 does not carry (RFC 9110, 15.4.5). */
function withoutType(headers: readonly string[]): string[] {
  const at = headers.indexOf('Content-Type')
  return at === -1 ? [...headers] : headers.toSpliced(at, 2)
}

export const HTML_TYPE = 'text/html; charset=utf-8'

/** The stylesheet that the site serves for its own pages. */
export const STYLE_PATH = '/page.css'

/** Policy of text pages, which have no scripts. */
export const PLAIN_POLICY =
  "default-src 'none'; style-src 'self'; font-src 'self'; img-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

const LINKS = [
  ['/', 'Register'],
  ['/entries', 'Entries'],
  ['/keys', 'Keys'],
  ['/try', 'Try'],
  ['/scalar/v1', 'Docs'],
  ['/status', 'Status'],
] as const

/** `content` is HTML. */
export function plainPage(title: string, content: string): string {
  const links = LINKS.map(([path, name]) => `<a href="${path}">${name}</a>`)
  return `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <meta name="color-scheme" content="light dark">
    <title>${escapeMarkup(title)}</title>
    <link rel="icon" href="/favicon.ico" type="image/svg+xml">
    <link rel="stylesheet" href="/theme.css">
    <link rel="stylesheet" href="${STYLE_PATH}">
  </head>
  <body class="page">
    <header class="mast">
      <a class="brand" href="/"><img src="/favicon.ico" alt="The register" width="32" height="33"></a>
      <div class="right"><nav aria-label="Sections">${links.join('')}</nav></div>
    </header>
    <div class="row text"><main>${content}</main></div>
  </body>
</html>
`
}

export function toTable(rows: readonly (readonly [string, string])[]): string {
  const cells = rows.map(
    ([name, value]) =>
      `<tr><th scope="row">${escapeMarkup(name)}</th><td>${escapeMarkup(value)}</td></tr>`,
  )
  return `<table>${cells.join('')}</table>`
}

const MARKDOWN_TYPE = 'text/markdown; charset=utf-8'

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
    linkToPages(text.replaceAll('https://api.example', publicBaseUrl)),
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
export function linkToPages(text: string, folder = '/docs/'): string {
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
