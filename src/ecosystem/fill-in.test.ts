import assert from 'node:assert/strict'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import localEcosystem from '#devnet/local-ecosystem.ts'
import { loadEcosystemFile, parseEcosystem } from './load-ecosystem.ts'

test('a string names variables of the environment, alone or within a longer text', async (context) => {
  const path = await writeLocal(context, [`\${NODE_URL}`, `https://rpc.example/v2/\${KEY}`])
  const environment = { NODE_URL: 'http://127.0.0.1:8545', KEY: 'abc' }
  const ecosystem = parseEcosystem('mine', await loadEcosystemFile(path, environment))
  assert.deepEqual(ecosystem.chains[0]?.rpcUrls, [
    'http://127.0.0.1:8545',
    'https://rpc.example/v2/abc',
  ])
})

test('every variable that is not set is reported with its field, and no value is shown', async (context) => {
  const path = await writeLocal(context, [`\${NODE_URL}`, `https://rpc.example/\${SECRET}/\${KEY}`])
  await assert.rejects(loadEcosystemFile(path, { SECRET: 'hush', KEY: '' }), ({ message }) => {
    assert.match(message, /chains\[0\]\.rpcUrls\[0\]: names the variable \$\{NODE_URL\}/)
    assert.match(message, /chains\[0\]\.rpcUrls\[1\]: names the variable \$\{KEY\}/)
    assert.doesNotMatch(message, /hush/)
    return true
  })
})

test('a name that every object has is no variable', async (context) => {
  const path = await writeLocal(context, [`\${toString}`, `\${constructor}`])
  await assert.rejects(
    loadEcosystemFile(path, {}),
    /variable \$\{toString\}.*\n.*\$\{constructor\}/,
  )
})

async function writeLocal(context: { after(end: () => Promise<void>): void }, rpcUrls: string[]) {
  const folder = await mkdtemp(join(tmpdir(), 'sexton-file-'))
  context.after(() => rm(folder, { recursive: true }))
  const path = join(folder, 'ecosystem.json')
  const [first, ...others] = localEcosystem.chains
  const file = { ...localEcosystem, chains: [{ ...first, rpcUrls }, ...others] }
  await writeFile(path, JSON.stringify(file))
  return path
}
