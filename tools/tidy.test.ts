import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { type Breach, describeBreaches } from './tidy/breach.ts'
import { budgetBreaches } from './tidy/budget.ts'
import { circleBreaches } from './tidy/circle-rule.ts'
import { importFormBreaches, layerBreaches } from './tidy/layer-rules.ts'
import { linkBreaches } from './tidy/link-rules.ts'
import { nameBreaches } from './tidy/name-rules.ts'
import { readTexts, readTree } from './tidy/read-tree.ts'
import { fileSizeBreaches } from './tidy/size-rules.ts'

const root = join(import.meta.dirname, '..')
const files = await readTree(root)
/** What a tool writes is as long as it must be. */
const byHand = files.filter(({ path }) => !path.endsWith('/generated.ts'))

function holds(guarantee: string, breaches: readonly Breach[]): void {
  test(guarantee, () => {
    if (breaches.length > 0) assert.fail(`\n${describeBreaches(breaches)}\n`)
  })
}

holds('a room imports only rooms listed above it', layerBreaches(files))
holds('imports name their room and their ending', importFormBreaches(files))
holds('no imports run in a circle', circleBreaches(files))
holds('no file is over 600 lines', fileSizeBreaches(byHand))
holds('no folder has more lines than its budget', budgetBreaches(files))
holds(
  'names are kebab-case, say something and carry no version',
  nameBreaches(files.map((file) => file.path)),
)
holds(
  'links and names of documents lead somewhere',
  linkBreaches(await readTexts(root), (path) => existsSync(join(root, path))),
)
