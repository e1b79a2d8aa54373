import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { promisify } from 'node:util'
import { gzipSync } from 'node:zlib'
import { build } from 'esbuild'
import { generateClient } from '#tools/client.ts'
import { installClient } from './install-client.ts'

const run = promisify(execFile)
const ROOT = join(import.meta.dirname, '../..')
const GZIPPED_BYTES_MAX = 6_000

test('the client is generated from the document of this server', async () => {
  const file = await readFile(join(ROOT, 'client/src/generated.ts'), 'utf8')
  assert.equal(file, await generateClient(), 'run: node tools/client.ts')
})

describe('the client, packed and installed alone', () => {
  let folder: string
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'sexton-client-'))
    await installClient(folder)
  })
  after(() => rm(folder, { recursive: true, force: true }))

  test('it needs no other package', async () => {
    const file = join(folder, 'node_modules/sexton-client/package.json')
    const manifest = JSON.parse(await readFile(file, 'utf8'))
    for (const kind of ['dependencies', 'peerDependencies', 'optionalDependencies'])
      assert.equal(manifest[kind], undefined)
  })

  test('its types compile under tsc --strict for browsers', async () => {
    await writeFile(
      join(folder, 'use.mts'),
      `import { createClient, listBurns, rows } from 'sexton-client'
const client = createClient({ baseUrl: location.origin })
for await (const burn of rows(listBurns, client, { limit: 100 })) {
  const amount: string = burn.amount
  console.log(amount)
  // @ts-expect-error: a burn has no such member
  console.log(burn.amonut)
}
// @ts-expect-error: a limit is a number
await listBurns(client, { limit: 'one' })
`,
    )
    const lib = ['--ignoreConfig', '--target', 'es2022', '--lib', 'es2022,dom,dom.iterable']
    const options = ['--noEmit', '--strict', '--module', 'nodenext', ...lib, 'use.mts']
    await run(join(ROOT, 'node_modules/.bin/tsc'), options, { cwd: folder }).catch((error) =>
      assert.fail(error.stdout),
    )
  })

  test('all of it is below 6 kB gzipped, and what is not imported is left out', async () => {
    const all = await sizeOf(folder, `export * from 'sexton-client'`)
    const one = await sizeOf(folder, `export { createClient, getStats } from 'sexton-client'`)
    assert.ok(all < GZIPPED_BYTES_MAX, `${all} bytes`)
    assert.ok(one < all * 0.75, `${one} of ${all} bytes`)
  })
})

/** Bytes of a bundle for browsers, minified and gzipped. */
async function sizeOf(folder: string, contents: string): Promise<number> {
  const { outputFiles } = await build({
    stdin: { contents, resolveDir: folder },
    bundle: true,
    minify: true,
    format: 'esm',
    platform: 'browser',
    write: false,
  })
  return gzipSync(outputFiles[0]?.contents ?? '').length
}
