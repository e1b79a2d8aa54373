import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { promisify } from 'node:util'
import manifest from '../package.json' with { type: 'json' }

const ROOT = join(import.meta.dirname, '..')
const read = (path: string) => readFile(join(ROOT, path), 'utf8')
const { version } = manifest

test('package, client, template and walk to production name one version', async () => {
  assert.equal(JSON.parse(await read('client/package.json')).version, version)
  assert.match(await read('deploy/template/Dockerfile'), new RegExp(`^FROM \\S+:${version}$`, 'm'))
  assert.ok((await read('docs/production.md')).includes(`sexton@${version} node@26`))
})

test('the ecosystem file has one name, and its whole folder is handed over', async () => {
  const { stdout } = await promisify(execFile)('git', ['ls-files', 'deploy', 'docs', '*.md'], {
    cwd: ROOT,
  })
  for (const path of stdout
    .trim()
    .split('\n')
    .filter((each) => each !== 'CHANGELOG.md'))
    assert.doesNotMatch(await read(path), /(?<!<data>\/)\becosystem\.json\b/, path)
  for (const unit of ['sexton.service', 'sexton@.service'])
    assert.match(await read(`deploy/systemd/${unit}`), /^WorkingDirectory=\/etc\/sexton$/m)
  assert.match(await read('deploy/Dockerfile'), /^WORKDIR \/etc\/sexton$/m)
})

test('the image is built from what git knows', async () => {
  const ignored = (await read('.gitignore')).trim().split('\n')
  const left = (await read('deploy/Dockerfile.dockerignore')).trim().split('\n')
  assert.deepEqual(left, ['.git', ...ignored.map((each) => `**/${each}`)])
})
