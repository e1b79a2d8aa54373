import { posix } from 'node:path'
import { toAnchor } from '#api/pages.ts'
import type { Breach } from './breach.ts'
import { lineAt } from './source-file.ts'

/** A Markdown or source file. */
export type TextFile = {
  /** From the project's root, with `/` between its parts. */
  readonly path: string
  readonly text: string
}

/** `[text](target)` and `![text](target)`; addresses of the web are left to people. */
const link = /\]\(([^()\s]+)\)/g
const web = /^[a-z]+:/
/** Documents are named from the root in comments, strings and texts. */
const mention = /(?<![\w/.-])docs\/[\w./-]+\.md\b/g

/** Relative links of Markdown files and names of documents that lead nowhere. */
export function linkBreaches(
  files: readonly TextFile[],
  exists: (path: string) => boolean,
): Breach[] {
  const texts = new Map(files.map(({ path, text }) => [path, text]))
  const isThere = (path: string, anchor: string | undefined) => {
    if (!exists(path)) return false
    const text = texts.get(path)
    return anchor === undefined || text === undefined || anchorsOf(text).includes(anchor)
  }
  return files.flatMap((file) => [
    ...(file.path.endsWith('.md') ? brokenLinks(file, isThere) : []),
    ...brokenMentions(file, exists),
  ])
}

function brokenLinks(
  { path, text }: TextFile,
  isThere: (path: string, anchor: string | undefined) => boolean,
): Breach[] {
  return [...withoutCode(text).matchAll(link)].flatMap((match) => {
    const target = match[1] ?? ''
    if (web.test(target)) return []
    const [file = '', anchor] = target.split('#')
    const full = file === '' ? path : posix.join(posix.dirname(path), file)
    return isThere(full, anchor) ? [] : [breach(path, lineAt(text, match.index), target)]
  })
}

function brokenMentions({ path, text }: TextFile, exists: (path: string) => boolean): Breach[] {
  return [...text.matchAll(mention)]
    .filter((match) => !exists(match[0]))
    .map((match) => breach(path, lineAt(text, match.index), match[0]))
}

function breach(path: string, line: number, target: string): Breach {
  const mend = 'name a file that exists, and a heading that it has'
  return { path, line, rule: `'${target}' leads nowhere`, mend }
}

/** Blanks fences and code spans, keeping every position. */
function withoutCode(text: string): string {
  return text.replace(/^```[\s\S]*?^```|`[^`\n]*`/gm, (code) => code.replace(/[^\n]/g, ' '))
}

function anchorsOf(text: string): readonly string[] {
  return [...text.matchAll(/^#+ (.+)$/gm)].map((match) => toAnchor(match[1] ?? ''))
}
