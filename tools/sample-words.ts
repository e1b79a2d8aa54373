import { join } from 'node:path'
import { Command } from 'commander'
import { readNumber } from '#test/program-options.ts'
import { maskSource } from './tidy/mask-source.ts'
import { readTexts } from './tidy/read-tree.ts'

/** Words of `src/` to be graded by someone who has not read the code: a comment, message or name that has to be decoded is a riddle. */
const { seed } = new Command('node tools/sample-words.ts')
  .description('Prints 60 comments, 40 error messages and 40 exported names, chosen by the seed.')
  .option('--seed <number>', 'another seed shows others', readNumber, 1)
  .parse()
  .opts<{ seed: number }>()

const COMMENT = /\/\*\*[\s\S]*?\*\/|\/\/.*/g
const MESSAGE =
  /(?:refuse\(\s*'\w+',|new \w*Error\(|reason:|problem\()\s*('(?:[^'\\\n]|\\.)*'|`(?:[^`\\]|\\.)*`)/g
const NAME = /^export (?:async )?(?:function\*?|const|class|interface|type) (\w+)/gm

const files = (await readTexts(join(import.meta.dirname, '..'))).filter(
  ({ path }) => path.startsWith('src/') && path.endsWith('.ts') && !path.endsWith('.test.ts'),
)
let state = seed
print('Comments', 60, (text) => withLines(text, maskSource(text).comments, COMMENT))
print('Error messages', 40, (text) => withLines(text, text, MESSAGE))
print('Names', 40, (text) => withLines(text, text, NAME))

function print(title: string, count: number, find: (text: string) => readonly string[]): void {
  const all = files.flatMap(({ path, text }) => find(text).map((each) => `${path}:${each}`))
  process.stdout.write(`\n${title}, ${count} of ${all.length}\n\n`)
  for (const line of shuffled(all).slice(0, count)) process.stdout.write(`${line}\n`)
}

function withLines(text: string, searched: string, pattern: RegExp): readonly string[] {
  return [...searched.matchAll(pattern)].map(({ index, 0: whole, 1: part = whole }) => {
    const line = text.slice(0, index).split('\n').length
    return `${line}  ${part.replaceAll(/\s+\*? ?/g, ' ')}`
  })
}

function shuffled<T>(list: readonly T[]): readonly T[] {
  return list
    .map((value) => ({ value, at: random() }))
    .sort((a, b) => a.at - b.at)
    .map(({ value }) => value)
}

/** Mulberry32. */
function random(): number {
  state = (state + 0x6d2b79f5) | 0
  let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
  mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
  return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
}
