import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { isLongVersion } from '#test/long-version.ts'
import { artifactPath, artifactText } from './artifact.ts'
import { compile } from './compile.ts'

test('the committed artifacts are byte for byte what the sources compile to', {
  skip: !isLongVersion && 'compiled in npm run test:long',
}, () => {
  const artifacts = compile()
  for (const artifact of artifacts) {
    const committed = readFileSync(artifactPath(artifact.contractName), 'utf8')
    assert.equal(
      committed,
      artifactText(artifact),
      `${artifact.contractName}: run node contracts/compile.ts`,
    )
  }
  const names = artifacts.map((artifact) => `${artifact.contractName}.json`).sort()
  assert.deepEqual(readdirSync(join(import.meta.dirname, 'artifacts')).sort(), names)
})
