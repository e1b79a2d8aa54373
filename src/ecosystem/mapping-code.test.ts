import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import localEcosystem from '#devnet/local-ecosystem.ts'
import { loadEcosystem } from '#ecosystem/load-ecosystem.ts'
import { EcosystemError } from '#ecosystem/problem.ts'

const folder = mkdtempSync(join(tmpdir(), 'sexton-$&-'))
after(() => rmSync(folder, { recursive: true }))

type Part = 'burns' | 'dividends' | 'graveDigs'

/** Loads a file whose first mapping of a list has a module. */
let written = 0

async function load(part: Part, source: string, change: (mapping: object) => object) {
  // Node loads a path once.
  written += 1
  const own = `own-${written}.ts`
  writeFileSync(join(folder, own), source)
  const [first, ...others] = localEcosystem[part]
  const mapping = change({ ...first, rows: `./${own}` })
  const path = join(folder, 'sexton.json')
  writeFileSync(path, JSON.stringify({ ...localEcosystem, [part]: [mapping, ...others] }))
  return loadEcosystem(path)
}

const without =
  (...fields: readonly string[]) =>
  (mapping: object) =>
    Object.fromEntries(Object.entries(mapping).filter(([name]) => !fields.includes(name)))

const ROWS = 'export const rows = () => []\n'

test('a module is found beside the file, and decides what the mapping leaves out', async () => {
  const { graveDigs } = await load('graveDigs', ROWS, without('digger', 'amount', 'graveId'))
  assert.match(graveDigs[0]?.code?.file ?? '', /^own-1.ts$/)
  const keep = 'export const keep = () => true\n'
  const { burns } = await load('burns', keep, without())
  assert.deepEqual(burns[0]?.code?.members, [])
})

const REFUSED: readonly (readonly [Part, string, (mapping: object) => object, RegExp])[] = [
  [
    'graveDigs',
    ROWS,
    without('digger', 'graveId'),
    /graveDigs\[0\].amount: is decided by own-[0-9]+.ts/,
  ],
  [
    'graveDigs',
    'export const keep = () => true',
    without('amount'),
    /graveDigs\[0\].amount: is missing/,
  ],
  [
    'graveDigs',
    'export const digs = () => []',
    without(),
    /own-[0-9]+.ts must export either a function "rows" or one "keep"/,
  ],
  ['graveDigs', 'const rows = () => []', without(), /own-[0-9]+.ts must export either/],
  [
    'dividends',
    `${ROWS}export const keep = () => true`,
    without('amount', 'recipient', 'tokenArgument'),
    /own-[0-9]+.ts must export either/,
  ],
  [
    'burns',
    ROWS,
    without('from', 'amount'),
    /can only keep or leave out burns on a token's own Transfer/,
  ],
  [
    'dividends',
    ROWS,
    (mapping) => ({ ...mapping, rows: '../own.ts' }),
    /dividends\[0\].rows: must be a module beside the file/,
  ],
  [
    'dividends',
    ROWS,
    (mapping) => ({ ...mapping, rows: './none.ts' }),
    /dividends\[0\].rows: cannot be loaded: .*no such file/,
  ],
  [
    'dividends',
    ROWS,
    (mapping) => ({ ...without('rows')(mapping), with: [{ event: 'event A()' }] }),
    /dividends\[0\].with: is for mappings with rows/,
  ],
]

for (const [part, source, change, message] of REFUSED)
  test(`the file is refused: ${message.source}`, async () => {
    await assert.rejects(
      load(part, source, change),
      (error) => error instanceof EcosystemError && message.test(error.message),
    )
  })
