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
      '#base/time.ts',
      '#db/sql.ts',
      '#accounts/keys/message.ts',
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

test('a room imports those above it, and base only itself', () => {
  assert.equal(layersOf('src/api/stats.ts', '#data/burns/queries.ts').length, 0)
  assert.equal(layersOf('src/db/engine.ts', '#base/chain.ts').length, 0)
  assert.equal(layersOf('src/base/time.ts', '#db/sql.ts').length, 1)
  assert.equal(layersOf('src/index/status.ts', '#devnet/rpc.ts').length, 1)
  assert.equal(layersOf('src/db/engine.ts', '../../tools/check.ts').length, 1)
})

test('a test may import any room', () => {
  assert.equal(layersOf('src/base/time.test.ts', '#main/serve.ts').length, 0)
})

test('a folder that is no room is told', () => {
  assert.equal(layersOf('src/services/burns.ts', '#base/time.ts').length, 1)
})

test('imports across rooms without # and imports without an ending are told', () => {
  const file = importing(
    'src/api/http/route.ts',
    '../../base/time.ts',
    '#base/time',
    './server',
    './a.ts',
  )
  const rules = importFormBreaches([file]).map(({ line, mend }) => `${line} ${mend}`)
  assert.deepEqual(rules, [
    "1 import '#base/time.ts'",
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
  const { imports } = sourceFile('src/base/a.ts', text.join('\n'))
  assert.deepEqual(
    imports.map(({ specifier, line }) => `${line} ${specifier}`),
    ['1 #main/a.ts', '2 #main/b.ts', '3 #main/c.ts', '4 #main/d.ts', '5 #main/e.ts'],
  )
})

test('a circle is told once, with its way, even if only types run in it', () => {
  const files = [
    importing('src/base/a.ts', './b.ts'),
    sourceFile('src/base/b.ts', `import type { C } from '#base/c.ts'`),
    importing('src/base/c.ts', './a.ts', './d.ts'),
    importing('src/base/d.ts'),
  ]
  const breaches = circleBreaches(files)
  assert.equal(breaches.length, 1)
  assert.match(
    breaches[0]?.rule ?? '',
    /base\/a\.ts → src\/base\/b\.ts → src\/base\/c\.ts → src\/base\/a/,
  )
  assert.equal(circleBreaches([importing('src/base/a.ts', './a.ts')]).length, 1)
  assert.equal(circleBreaches(files.slice(1)).length, 0)
})

test('a file of 601 lines is told, one of 600 is not', () => {
  const linesOf = (count: number) => sourceFile('src/base/a.ts', 'a()\n'.repeat(count))
  assert.equal(fileSizeBreaches([linesOf(600)]).length, 0)
  assert.equal(fileSizeBreaches([linesOf(601)]).length, 1)
  const comments = sourceFile('src/base/a.ts', `a()\n${'// b\n'.repeat(600)}`)
  assert.equal(fileSizeBreaches([comments]).length, 1)
})

test('a folder over its budget is told, and a folder without one', () => {
  const linesOf = (path: string, count: number) => sourceFile(path, 'a()\n'.repeat(count))
  const most = budget.base ?? 0
  assert.equal(budgetBreaches([linesOf('src/base/a.ts', most)]).length, 0)
  assert.equal(
    budgetBreaches([linesOf('src/base/a.ts', most), linesOf('src/base/b.ts', 1)]).length,
    1,
  )
  assert.equal(budgetBreaches([linesOf('src/unheard/a.ts', 1)]).length, 1)
  assert.equal(budgetBreaches([linesOf('src/base/a.test.ts', most + 1)]).length, 0)
})

test('names that are not kebab-case, say nothing or carry a version are told', () => {
  const bad = [
    'src/base/timeOf.ts',
    'src/base/Day.ts',
    'src/base/time_of.ts',
    'src/base/string-utils.ts',
  ]
  const worse = [
    'src/helpers/day.ts',
    'src/base/key-manager.ts',
    'src/base/misc.ts',
    'src/api/keys-v2.ts',
  ]
  for (const path of [...bad, ...worse]) assert.equal(nameBreaches([path]).length, 1, path)
  const good = ['src/db/sql.ts', 'src/accounts/keys/401.test.ts', 'src/chain/eip191.ts']
  assert.deepEqual(nameBreaches([...good, 'src/data/prices/uniswap-v2.ts']), [])
})
