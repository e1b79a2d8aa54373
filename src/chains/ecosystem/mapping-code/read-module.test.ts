import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { ModuleError, readModule } from './read-module.ts'

const folder = mkdtempSync(join(tmpdir(), 'sexton-'))
after(() => rmSync(folder, { recursive: true }))
const path = join(folder, 'payouts.ts')

function read(source: string) {
  writeFileSync(path, source)
  return readModule(path)
}

test('types are stripped, exports are named, and the digest is that of the bytes', () => {
  const first = read(
    "import type { MappedEvent } from 'sexton'\n// import 'x', async\nexport function keep(event: MappedEvent): boolean { return event.logIndex > 0 }\nexport const amount = () => 1n\n",
  )
  assert.deepEqual(first.functions, ['keep', 'amount'])
  assert.doesNotMatch(first.source, /export|MappedEvent/)
  assert.notEqual(read('export const amount = () => 2n\n').digest, first.digest)
})

test('texts, comments and patterns may hold any word', () => {
  const { functions, source } = read(
    `// import, async
const text = \`export \${'import'} it's\`
export const rows = () => (/'export|async/.test(text) ? [] : [])
`,
  )
  assert.deepEqual(functions, ['rows'])
  assert.match(source, /`export .*'import'.* it's`/)
})

const REFUSED = {
  "import { x } from './x.ts'":
    /^payouts.ts:1: the module must be self-contained: only "import type"/,
  "\nconst x = import('node:fs')": /^payouts.ts:2: the module must be self-contained/,
  "const a = /'/; const x = import('node:fs'); const b = /'/":
    /^payouts.ts:1: the module must be self-contained/,
  'const a = /"/; const x = async () => 1; const b = /"/':
    /^payouts.ts:1: functions of a mapping are synchronous/,
  '\n\nexport default 1': /^payouts.ts:3: only "export function name\(event\)"/,
  'const a = 1\nexport { a }': /^payouts.ts:2: only "export function name\(event\)"/,
  'export async function rows() {}': /^payouts.ts:1: functions of a mapping are synchronous/,
  'const wait = async () => 1': /^payouts.ts:1: functions of a mapping are synchronous/,
  'function rows( {': /^payouts.ts:1: /,
  'enum Kind { Claim }': /^payouts.ts:1: TypeScript enum is not supported/,
  '}); (function () {': /^payouts.ts:1: /,
} as const

for (const [source, reason] of Object.entries(REFUSED))
  test(`${JSON.stringify(source)} is refused with its line`, () => {
    assert.throws(
      () => read(source),
      (error) => error instanceof ModuleError && reason.test(error.message),
    )
  })

test('a module that is not there is refused with its path', () => {
  assert.throws(() => readModule(join(folder, 'none.ts')), /cannot be read: .*none.ts/)
})
