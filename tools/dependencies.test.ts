import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { manifestFaults, reasonFaults, resolvedAddresses } from './tidy/dependency-rules.ts'

const read = (path: string) => readFile(join(import.meta.dirname, '..', path), 'utf8')
const manifests = await Promise.all(
  ['package.json', 'client/package.json', 'site/package.json'].map(async (path) =>
    JSON.parse(await read(path)),
  ),
)
const manifest = {
  dependencies: Object.assign({}, ...manifests.map((each) => each.dependencies)),
  devDependencies: Object.assign({}, ...manifests.map((each) => each.devDependencies)),
}

test('every direct dependency has its line of reason, and no line stands for none', async () => {
  const document = await read('docs/dependencies.md')
  assert.deepEqual(reasonFaults(manifest, document), [])
})

test('every direct dependency is pinned to one version', () => {
  assert.deepEqual(manifestFaults(manifest), [])
})

test('the lock records no address of a registry', async () => {
  assert.deepEqual(resolvedAddresses(JSON.parse(await read('package-lock.json'))), [])
})

test('a dependency without a line, a line without a dependency, a range and an address are told', () => {
  const sample = { dependencies: { fastify: '5.0.0', viem: '^2.0.0' }, devDependencies: {} }
  const faults = reasonFaults(
    sample,
    '- `fastify`: serves HTTP.\n- `gone`: was used once.\n- `viem`:\n',
  )
  assert.deepEqual(faults, ['viem: no line of reason', 'gone: is no direct dependency'])
  assert.deepEqual(manifestFaults(sample), ['viem: ^2.0.0 is not one exact version'])
  const lock = { packages: { 'node_modules/a': { resolved: 'https://registry.example/a.tgz' } } }
  assert.deepEqual(resolvedAddresses(lock), ['node_modules/a'])
})
