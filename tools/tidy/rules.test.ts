import assert from 'node:assert/strict'
import { test } from 'node:test'
import { describeBreaches } from './breach.ts'
import { budget, budgetBreaches } from './budget.ts'
import { circleBreaches } from './circle-rule.ts'
import { importFormBreaches, layerBreaches } from './layer-rules.ts'
import { nameBreaches } from './name-rules.ts'
import { fileSizeBreaches } from './size-rules.ts'
import { sourceFile } from './source-file.ts'

const importing = (path: string, ...specifiers: string[]) =>
  sourceFile(path, specifiers.map((each) => `import { a } from '${each}'\n`).join(''))

const layersOf = (path: string, specifier: string) => layerBreaches([importing(path, specifier)])

test('a room that imports one below its own is told, with file and line', () => {
  const [breach, ...more] = layerBreaches([
    importing(
      'src/accounts/ledger/entry.ts',
      '#lib/time.ts',
      '#store/sql.ts',
      '#accounts/keys/mint.ts',
    ),
  ])
  assert.equal(more.length, 0)
  assert.equal(breach?.line, 3)
  const words = describeBreaches(breach === undefined ? [] : [breach])
  assert.match(
    words,
    /^src\/accounts\/ledger\/entry\.ts:3 {2}src\/accounts\/ledger must not import/,
  )
})

test('a room imports those above it, and lib nothing', () => {
  assert.equal(layersOf('src/api/stats.ts', '#chains/kinds/burns/queries.ts').length, 0)
  assert.equal(layersOf('src/store/engine.ts', '#domain/chain.ts').length, 0)
  assert.equal(layersOf('src/lib/time.ts', '#domain/chain.ts').length, 1)
  assert.equal(layersOf('src/chains/indexer/status.ts', '#devnet/rpc.ts').length, 1)
  assert.equal(layersOf('src/store/engine.ts', '../../tools/check.ts').length, 1)
})

test('a test may import any room', () => {
  assert.equal(layersOf('src/lib/time.test.ts', '#main/start/serve.ts').length, 0)
})

test('a folder that is no room is told', () => {
  assert.equal(layersOf('src/services/burns.ts', '#lib/time.ts').length, 1)
})

test('imports across rooms without # and imports without an ending are told', () => {
  const file = importing(
    'src/api/http/route.ts',
    '../../lib/time.ts',
    '#lib/time',
    './server',
    './a.ts',
  )
  const rules = importFormBreaches([file]).map(({ line, mend }) => `${line} ${mend}`)
  assert.deepEqual(rules, [
    "1 import '#lib/time.ts'",
    '2 write the whole file name, .ts included',
    '3 write the whole file name, .ts included',
  ])
})

test('every form of import counts, and quoted or commented ones do not', () => {
  const text = [
    `import '#main/a.ts'`,
    `export * from '#main/b.ts'`,
    `export type { T } from '#main/c.ts'`,
    `const d = await import('#main/d.ts')`,
    `type E = typeof import('#main/e.ts')`,
    `// import '#main/f.ts'`,
    `const g = "import '#main/g.ts'"`,
    'const h = `\nimport { h } from "#main/h.ts"\n`',
  ]
  const { imports } = sourceFile('src/lib/a.ts', text.join('\n'))
  assert.deepEqual(
    imports.map(({ specifier, line }) => `${line} ${specifier}`),
    ['1 #main/a.ts', '2 #main/b.ts', '3 #main/c.ts', '4 #main/d.ts', '5 #main/e.ts'],
  )
})

test('a circle is told once, with its way, even if only types run in it', () => {
  const files = [
    importing('src/lib/a.ts', './b.ts'),
    sourceFile('src/lib/b.ts', `import type { C } from '#lib/c.ts'`),
    importing('src/lib/c.ts', './a.ts', './d.ts'),
    importing('src/lib/d.ts'),
  ]
  const breaches = circleBreaches(files)
  assert.equal(breaches.length, 1)
  assert.match(
    breaches[0]?.rule ?? '',
    /lib\/a\.ts → src\/lib\/b\.ts → src\/lib\/c\.ts → src\/lib\/a/,
  )
  assert.equal(circleBreaches([importing('src/lib/a.ts', './a.ts')]).length, 1)
  assert.equal(circleBreaches(files.slice(1)).length, 0)
})

test('a file of 601 lines is told, one of 600 is not', () => {
  const linesOf = (count: number) => sourceFile('src/lib/a.ts', 'a()\n'.repeat(count))
  assert.equal(fileSizeBreaches([linesOf(600)]).length, 0)
  assert.equal(fileSizeBreaches([linesOf(601)]).length, 1)
  const comments = sourceFile('src/lib/a.ts', `a()\n${'// b\n'.repeat(600)}`)
  assert.equal(fileSizeBreaches([comments]).length, 1)
})

test('a folder over its budget is told, and a folder without one', () => {
  const linesOf = (path: string, count: number) => sourceFile(path, 'a()\n'.repeat(count))
  const most = budget.lib ?? 0
  assert.equal(budgetBreaches([linesOf('src/lib/a.ts', most)]).length, 0)
  assert.equal(
    budgetBreaches([linesOf('src/lib/a.ts', most), linesOf('src/lib/b.ts', 1)]).length,
    1,
  )
  assert.equal(budgetBreaches([linesOf('src/unheard/a.ts', 1)]).length, 1)
  assert.equal(budgetBreaches([linesOf('src/lib/a.test.ts', most + 1)]).length, 0)
})

test('names that are not kebab-case, say nothing or carry a version are told', () => {
  const bad = [
    'src/lib/timeOf.ts',
    'src/lib/Day.ts',
    'src/lib/time_of.ts',
    'src/lib/string-utils.ts',
  ]
  const worse = [
    'src/helpers/day.ts',
    'src/lib/key-manager.ts',
    'src/lib/misc.ts',
    'src/api/keys-v2.ts',
  ]
  for (const path of [...bad, ...worse]) assert.equal(nameBreaches([path]).length, 1, path)
  const good = ['src/store/sql.ts', 'src/accounts/keys/401.test.ts', 'src/chains/chain/eip191.ts']
  assert.deepEqual(nameBreaches([...good, 'src/chains/datasets/prices/uniswap-v2.ts']), [])
})
