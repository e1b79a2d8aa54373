import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Breach } from './breach.ts'
import { readTree } from './read-tree.ts'
import { isTest, type SourceFile } from './source-file.ts'

/**
 * Lines that each folder of `src/` may have, without tests, and all tests of `src/` and `test/`. They only
 * fall: after a folder has shrunk, `node tools/tidy/budget.ts --lower` writes what is left.
 */
export const budget: Readonly<Record<string, number>> = {
  accounts: 3404,
  api: 2666,
  base: 702,
  chain: 2769,
  data: 6050,
  db: 1676,
  ecosystem: 2669,
  entry: 668,
  feed: 1590,
  index: 2884,
  main: 1304,
  ops: 4169,
  payments: 4015,
  site: 1682,
  tests: 37500,
}

/** Folders that have more lines than their budget, or no budget. */
export function budgetBreaches(files: readonly SourceFile[]): Breach[] {
  return [...countLines(files)].flatMap(([room, lines]) => {
    const most = budget[room] ?? 0
    if (lines <= most) return []
    const rule = `${room} has ${lines} lines, ${most} are budgeted`
    return [{ path: 'tools/tidy/budget.ts', line: 1, rule, mend: 'take something out' }]
  })
}

function countLines(files: readonly SourceFile[]): Map<string, number> {
  const counts = new Map<string, number>()
  for (const file of files) {
    const [top = '', folder = ''] = file.path.split('/')
    if (top !== 'src' && top !== 'test') continue
    const inSource = folder.endsWith('.ts') ? 'entry' : folder
    const room = top === 'test' || isTest(file) ? 'tests' : inSource
    counts.set(room, (counts.get(room) ?? 0) + file.code.split('\n').length - 1)
  }
  return counts
}

/** Writes the present counts into this file where they are below the budget. */
async function lower(): Promise<void> {
  const counts = countLines(await readTree(join(import.meta.dirname, '../..')))
  const rows = [...counts].sort(([a], [b]) => a.localeCompare(b))
  const lines = rows.map(
    ([room, count]) => `  ${room}: ${Math.min(count, budget[room] ?? count)},\n`,
  )
  const text = await readFile(import.meta.filename, 'utf8')
  const table = /(const budget.*= \{)[^}]*\}/
  await writeFile(import.meta.filename, text.replace(table, `$1\n${lines.join('')}}`))
}

if (import.meta.main && process.argv.includes('--lower')) await lower()
