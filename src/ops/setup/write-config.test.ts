import assert from 'node:assert/strict'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import localEcosystem from '#devnet/local-ecosystem.ts'
import { loadEcosystemFile } from '#ecosystem/load-ecosystem.ts'
import { writeModule } from '#ops/setup/init.ts'

test('the written module holds the same file, whatever a contract calls itself and a node answers', async (context) => {
  const folder = await mkdtemp(join(tmpdir(), 'sexton-config-'))
  context.after(() => rm(folder, { recursive: true }))
  const names = ["it's", 'a "b"', 'back\\slash', 'line\nbreak\u2028', '*/ evil() //', '`x`']
  for (const name of names) {
    const file = { ...localEcosystem, service: { ...localEcosystem.service, name } }
    const notes = new Map([
      ['service.name', `named ${name}`],
      ['chains[1].startBlock', name],
    ])
    const path = join(folder, `${names.indexOf(name)}.ts`)
    await writeFile(path, writeModule({ file, notes, remarks: [name] }))
    assert.deepEqual(await loadEcosystemFile(path, {}), JSON.parse(JSON.stringify(file)))
  }
})
