import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import {
  chmodSync,
  cpSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { type TestContext, test } from 'node:test'

type Locked = { version: string; integrity?: string; optional?: boolean; dev?: boolean }
type Packages = Record<string, Locked>

const node: Packages = { 'node_modules/node': { version: '26.10.0' } }

/** A project with a lock and, if given, an installed tree that says what npm put there. */
function project(
  t: TestContext,
  { locked, installed }: { locked: Packages; installed?: Packages },
) {
  const root = mkdtempSync(join(tmpdir(), 'sexton-install-'))
  t.after(() => rmSync(root, { recursive: true, force: true }))
  const write = (path: string, text: string) => {
    mkdirSync(dirname(join(root, path)), { recursive: true })
    writeFileSync(join(root, path), text)
  }
  mkdirSync(join(root, 'tools'))
  cpSync(join(import.meta.dirname, 'install.mjs'), join(root, 'tools', 'install.mjs'))
  write('package.json', JSON.stringify({ name: 'project', version: '0.1.0', private: true }))
  write('package-lock.json', JSON.stringify({ packages: { '': {}, ...locked } }))
  if (installed !== undefined) {
    write('node_modules/.package-lock.json', JSON.stringify({ packages: installed }))
    write('node_modules/.bin/node', '#!/bin/sh\necho v26.10.0\n')
    chmodSync(join(root, 'node_modules', '.bin', 'node'), 0o755)
  }
  return root
}

/** An npm that cannot be run: a run that comes as far as installing fails, and says so. */
function runInstall(root: string, lifecycle: string) {
  const env = { PATH: '/nowhere', npm_lifecycle_event: lifecycle }
  const script = join(root, 'tools', 'install.mjs')
  const { status, stderr } = spawnSync(process.execPath, [script], { env, encoding: 'utf8' })
  return { status, stderr }
}

test('an installed tree that is the locked one is left alone, without a word', (t) => {
  const root = project(t, { locked: node, installed: node })
  assert.deepEqual(runInstall(root, 'pretest'), { status: 0, stderr: '' })
})

test('an optional package of another platform may be absent', (t) => {
  const other = { 'node_modules/cli-darwin': { version: '1.0.0', optional: true } }
  const root = project(t, { locked: { ...node, ...other }, installed: node })
  assert.deepEqual(runInstall(root, 'pretest'), { status: 0, stderr: '' })
})

test('another version, another content and a missing tree are installed anew', (t) => {
  const viem = (locked: Locked): Packages => ({ ...node, 'node_modules/viem': locked })
  const locked = viem({ version: '2.0.0', integrity: 'sha512-a' })
  for (const present of [{ version: '1.0.0', integrity: 'sha512-a' }, { version: '2.0.0' }]) {
    const root = project(t, { locked, installed: viem(present) })
    assert.match(runInstall(root, 'pretest').stderr, /viem is not the locked one/)
  }
  assert.match(runInstall(project(t, { locked }), 'pretest').stderr, /nothing is installed yet/)
})

test('a failed install says what to do and leaves package.json and the lock as they were', (t) => {
  const root = project(t, { locked: node })
  const read = () =>
    ['package.json', 'package-lock.json'].map((file) => readFileSync(join(root, file), 'utf8'))
  const before = read()
  const { status, stderr } = runInstall(root, 'pretest')
  assert.equal(status, 1)
  assert.match(stderr, /npm install failed: .*\nWhat to do: see that the npm registry answers/)
  assert.deepEqual(read(), before)
})

test('what a script runs after the installation names the Node that was installed', () => {
  const manifest = JSON.parse(readFileSync(join(import.meta.dirname, '../package.json'), 'utf8'))
  const scripts = Object.values<string>(manifest.scripts)
  const chained = scripts.filter((script) => script.includes('install.mjs &&'))
  assert.equal(chained.length, 3)
  // A shell finds `node` once and stays with it, though the path begins elsewhere by then.
  for (const script of chained) assert.match(script, /&& node_modules\/\.bin\/node /)
})
