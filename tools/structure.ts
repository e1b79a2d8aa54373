import { glob, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { wings } from './tidy/house.ts'
import { maskSource } from './tidy/mask-source.ts'

/** Prints the size of each room, and how much of it is comments: `node tools/structure.ts`. */

interface Part {
  readonly folder: string
  readonly lines: number
  readonly words: number
  readonly isTest: boolean
}

/** Shorter files may belong in their importer. */
const SHORT_LINES = 20

const root = join(import.meta.dirname, '..')
const parts: Part[] = []
for await (const file of glob('src/**/*.ts', { cwd: root })) {
  const text = await readFile(join(root, file), 'utf8')
  const isTest = /\.test\.ts$|-harness\.ts$/.test(file)
  const [top = '', first = '', second = ''] = file.split('/')
  const folder = join(top, first, first in wings ? second : '')
  parts.push({ folder, lines: text.split('\n').length - 1, words: commentWords(text), isTest })
}

const source = parts.filter(({ isTest }) => !isTest)
const folders = [...new Set(source.map(({ folder }) => folder))].sort()
const rows = folders.map((folder) => figuresOf(folder, (each) => each.folder === folder))
console.table([...rows, figuresOf('all of src', () => true)])
console.table([
  { tests: parts.length - source.length, ...wordsOf(parts.filter((each) => each.isTest)) },
])

function figuresOf(name: string, isOf: (part: Part) => boolean) {
  const chosen = source.filter(isOf)
  const lines = chosen.map((each) => each.lines).sort((a, b) => a - b)
  const at = (share: number) => lines[Math.floor((lines.length - 1) * share)]
  const short = lines.filter((each) => each < SHORT_LINES).length
  return { name, files: lines.length, ...wordsOf(chosen), median: at(0.5), p90: at(0.9), short }
}

function wordsOf(chosen: readonly Part[]) {
  const lines = chosen.reduce((sum, each) => sum + each.lines, 0)
  const words = chosen.reduce((sum, each) => sum + each.words, 0)
  return { lines, 'comment words per 1,000 lines': Math.round((1_000 * words) / lines) }
}

/** A word begins with a letter or a digit, so that marks of comments do not count. */
function commentWords(text: string): number {
  return maskSource(text).comments.match(/(?<=^|\s)["'`(]*[\p{L}\p{N}]\S*/gmu)?.length ?? 0
}
