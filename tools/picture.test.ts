import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { drawArchitecture, picturePath, readLayers, tablesOf } from './picture.ts'
import { layerOf, wings } from './tidy/house.ts'
import { readTree } from './tidy/read-tree.ts'

const root = join(import.meta.dirname, '..')
const layers = readLayers(await readFile(join(root, 'docs/architecture.md'), 'utf8'))
const files = (await readTree(root)).filter(({ path }) => path.startsWith('src/'))

test('the picture of the architecture is up to date', async () => {
  const picture = drawArchitecture(layers)
  assert.equal(await readFile(picturePath, 'utf8'), picture, 'run: node tools/picture.ts')
  assert.ok(picture.length < 30_000)
  assert.doesNotMatch(picture, /href|url\(|@import/)
})

test('the tree in docs/architecture.md lists every room of src/ in its wing', () => {
  const names = layers.map(({ name }) => name)
  assert.deepEqual(names.toSorted(), [...new Set(files.map(({ path }) => layerOf(path)))].sort())
  for (const { name, wing } of layers)
    assert.equal(
      wing,
      Object.keys(wings).find((each) => wings[each]?.includes(name)),
      name,
    )
})

test('the picture shows in which store each layer has its tables', () => {
  const withTables = files
    .filter(({ withStrings }) => /^ *create table /m.test(withStrings))
    .map(({ path }) => layerOf(path))
  // Both stores have leaders and migrations.
  const drawn = [...Object.values(tablesOf).flat(), 'jobs', 'store']
  assert.deepEqual([...new Set(withTables)].sort(), drawn.toSorted())
})
