import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'

const read = (path: string) => readFile(join(import.meta.dirname, '..', path), 'utf8')

test('every version after the first has its paragraph on upgrading, which the changelog links', async () => {
  const changelog = await read('CHANGELOG.md')
  const upgrade = await read('docs/upgrade.md')
  const { version } = JSON.parse(await read('package.json'))
  const versions = [...changelog.matchAll(/^## \[([\d.]+)\]/gm)].map(([, name = '']) => name)
  assert.ok(versions.includes(version), `${version} is not in the changelog`)
  for (const name of versions.slice(0, -1)) {
    assert.ok(changelog.includes(`](docs/upgrade.md#to-${name.replaceAll('.', '')})`), name)
    assert.match(upgrade, new RegExp(`^## To ${name}\n\n\\S`, 'm'), name)
  }
})
