import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Marked } from 'marked'
import { HTML_TYPE, PLAIN_POLICY, plainPage } from '#api/plain-page.ts'
import { preferredType } from '#route/media.ts'
import type { Call, Outgoing } from '#route/route.ts'

const MARKDOWN_TYPE = 'text/markdown; charset=utf-8'

const CACHED = 'private, max-age=300'

interface Forms {
  readonly markdown: string
  readonly html: string
}

/** Answers with the Markdown files of a folder, each read once; browsers download Markdown, so they get it as HTML. */
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
        return `<h${depth} id="${anchorOf(text)}">${this.parser.parseInline(tokens)}</h${depth}>\n`
      },
    },
  })
  const title = markdown.slice(2).split('\n')[0] ?? ''
  return { markdown, html: plainPage(title, await marked.parse(markdown)) }
}

/** As GitHub writes it, so that links work in both places. */
export function anchorOf(heading: string): string {
  return heading
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N} _-]/gu, '')
    .replaceAll(' ', '-')
}
