import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import { Marked } from 'marked'
import { PACKAGE_ROOT } from '#base/package-root.ts'
import { isRefusal, type Refusal, refuse } from '#base/refusal.ts'
import { escapeMarkup } from '#base/text.ts'
import {
  acceptsCoding,
  type Call,
  JSON_TYPE,
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

interface Source {
  /** The text is written and packed again when this is another object. */
  readonly of: object
  text(): string
}

interface Version {
  readonly of: object
  readonly text: string
  readonly etag: string
  gzipped?: Promise<Buffer>
}

/** Serves a text that changes now and then. */
export function textPage(
  path: string,
  headers: Outgoing['headers'],
  read: (call: Call) => Promise<Source | Refusal>,
): Page {
  let last: Version | undefined
  const versionOf = (source: Source): Version => {
    if (last?.of === source.of) return last
    const text = source.text()
    last = { of: source.of, text, etag: weakEtag(text) }
    return last
  }
  return {
    path,
    async read(call) {
      const source = await read(call)
      if (isRefusal(source)) return source
      const version = versionOf(source)
      const { text, etag } = version
      if (matchesEtag(call.headers['if-none-match'], etag)) {
        // RFC 9110, 15.4.5
        const { 'Content-Type': _, ...withoutType } = headers
        return { status: 304, headers: { ETag: etag, ...withoutType }, body: '' }
      }
      const own = { ETag: etag, ...headers }
      if (!acceptsCoding(call.headers['accept-encoding']?.toString(), 'gzip'))
        return { status: 200, headers: own, body: text }
      version.gzipped ??= promisify(gzip)(text)
      const body = await version.gzipped
      return { status: 200, headers: { ...own, 'Content-Encoding': 'gzip' }, body }
    },
  }
}

/** Builds the text once and shares it among all answers. */
export function staticPage(
  path: string,
  contentType: string,
  text: string | (() => Promise<string>),
  more: Outgoing['headers'] = {},
): Page {
  const build = async () => {
    const built = typeof text === 'string' ? text : await text()
    return { of: build, text: () => built }
  }
  let made: Promise<Source> | undefined
  return textPage(path, { 'Content-Type': contentType, 'Cache-Control': CACHED, ...more }, () => {
    made ??= build()
    made.catch(() => {
      made = undefined
    })
    return made
  })
}

/** `read` returns the same object until it changes. */
export function jsonPage(path: string, seconds: number, read: () => Promise<object>): Page {
  const headers = { 'Content-Type': JSON_TYPE, 'Cache-Control': `private, max-age=${seconds}` }
  return textPage(path, headers, async () => {
    const of = await read()
    return { of, text: () => JSON.stringify(of) }
  })
}

export const HTML_TYPE = 'text/html; charset=utf-8'

/** The stylesheet that the site serves for its own pages. */
export const STYLE_PATH = '/page.css'

/** Headers of text pages, which have no scripts. */
export const PLAIN_HEADERS = {
  'Content-Type': HTML_TYPE,
  'Content-Security-Policy':
    "default-src 'none'; style-src 'self'; font-src 'self'; img-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
}

/**
 * Headers of pages with scripts: no inline code, no other hosts, no framing. Scripts set styles through the CSSOM
 * only. `own` replaces and adds directives.
 */
export function scriptedHeaders(own: Readonly<Record<string, string>> = {}) {
  const policy = {
    'default-src': "'none'",
    'script-src': "'self'",
    'style-src': "'self'",
    'font-src': "'self'",
    'img-src': "'self' data:",
    'connect-src': "'self'",
    'base-uri': "'none'",
    'form-action': "'none'",
    'frame-ancestors': "'none'",
    ...own,
  }
  const directives = Object.entries(policy).map(([name, sources]) => `${name} ${sources}`)
  return {
    'Content-Type': HTML_TYPE,
    'Content-Security-Policy': directives.join('; '),
    'Referrer-Policy': 'no-referrer',
    'X-Frame-Options': 'DENY',
  }
}

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

/**
 * Serves Markdown files, each read once; browsers would download Markdown, so they get HTML. `missing` is said of
 * other names.
 */
export function markdownPage(
  path: string,
  folder: string,
  { names, missing }: { readonly names: readonly string[]; readonly missing: string },
  change = (text: string): string => text,
): Page {
  const forms = new Map<string, ReturnType<typeof readForms>>()
  const readForms = async (name: string) => {
    const markdown = change(await readFile(join(folder, `${name}.md`), 'utf8'))
    return { markdown, html: await toHtml(markdown) }
  }
  return {
    path,
    async read({ path: values, headers: { accept } }) {
      const [name = ''] = Object.values(values)
      if (!names.includes(name)) return refuse('not_found', missing)
      const made = forms.get(name) ?? readForms(name)
      forms.set(name, made)
      made.catch(() => forms.delete(name))
      const { markdown, html } = await made
      const type = preferredType(accept, [MARKDOWN_TYPE, HTML_TYPE])
      return type === HTML_TYPE
        ? { status: 200, headers: { 'Cache-Control': CACHED, ...PLAIN_HEADERS }, body: html }
        : {
            status: 200,
            headers: { 'Content-Type': type, 'Cache-Control': CACHED },
            body: markdown,
          }
    },
  }
}

async function toHtml(markdown: string): Promise<string> {
  const marked = new Marked({
    renderer: {
      heading({ tokens, depth, text }) {
        return `<h${depth} id="${toAnchor(text)}">${this.parser.parseInline(tokens)}</h${depth}>\n`
      },
    },
  })
  const title = markdown.slice(2).split('\n')[0] ?? ''
  return plainPage(title, await marked.parse(markdown))
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

export function guidePage(publicBaseUrl: string): Page {
  const names = Object.keys(GUIDES)
  const missing = `no such guide; there are ${names.join(', ')}`
  return markdownPage('/docs/{name}', join(PACKAGE_ROOT, 'docs'), { names, missing }, (text) =>
    linkToPages(text.replaceAll('https://api.example', publicBaseUrl)),
  )
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
