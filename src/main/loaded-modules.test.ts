import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { pathToFileURL } from 'node:url'

/**
 * Each file that a thread loads costs a start about 0.2 ms and 70 kB, so their number keeps a restart
 * short. Raise a limit only with a reason in the commit.
 */
const FILES_MAX = { api: 1100, index: 600, writer: 30 }

/** With what it loads once the index is under way. */
const API = [
  '../operations/cli/sexton.ts',
  '../operations/cli/start-command.ts',
  'roles/run-start.ts',
  'roles/start.ts',
]

/** Packages that are loaded when they are needed, by one request or one setting. */
const LATER = [
  'viem',
  'prom-client',
  'postgres',
  'pino-pretty',
  '@scalar/',
  '@ethereumjs/',
  'ajv',
  'yaml',
  '@resvg/',
  'fontkit',
]

/** What only HTTP needs. */
const OF_HTTP = ['fastify', 'csv-stringify', 'ipaddr.js', 'commander']

/** Prints the files and Node's own modules that are loaded by then, also by modules that fail at their work. */
const LISTER = `
  import { registerHooks } from 'node:module'
  const files = []
  registerHooks({
    load(url, context, next) {
      if (url.startsWith('file:')) files.push(url)
      return next(url, context)
    },
  })
  for (const name of process.argv.slice(1)) await import(name).catch(() => undefined)
  console.log(JSON.stringify({ files, own: process.moduleLoadList }))`

interface Loaded {
  readonly files: readonly string[]
  /** Node's. */
  readonly own: readonly string[]
}

function loadedBy(...names: readonly string[]): Loaded {
  const urls = names.map((name) => pathToFileURL(join(import.meta.dirname, name)).href)
  const parameters = ['--input-type=module', '--eval', LISTER, ...urls]
  // Without the bundle of packages that a run of the tests puts in their place.
  const { NODE_OPTIONS: _, ...env } = process.env
  const { stdout, stderr } = spawnSync(process.execPath, parameters, { encoding: 'utf8', env })
  assert.ok(stdout !== '', stderr)
  return JSON.parse(stdout)
}

function packagesOf(files: readonly string[], names: readonly string[]): readonly string[] {
  return names.filter((name) => files.some((file) => file.includes(`/node_modules/${name}`)))
}

describe('what a start loads', () => {
  for (const [thread, names, later] of [
    ['api', API, LATER],
    ['index', ['roles/index-worker.ts'], [...LATER, ...OF_HTTP]],
    ['writer', ['writer-worker.ts'], [...LATER, ...OF_HTTP]],
  ] as const)
    it(`the ${thread} thread loads few files, and nothing that can wait`, () => {
      const { files } = loadedBy(...names)
      assert.deepEqual(packagesOf(files, later), [])
      assert.ok(files.length > FILES_MAX[thread] / 2, 'the files were counted')
      assert.ok(files.length <= FILES_MAX[thread], `${thread} loads ${files.length} files`)
    })

  it('no thread loads the fetch of Node itself', () => {
    const { own } = loadedBy(
      ...API,
      'roles/index-worker.ts',
      '../chains/chain/endpoints/logs-worker.ts',
    )
    assert.deepEqual(
      own.filter((name) => name.includes('undici')),
      [],
    )
    assert.ok(own.includes('NativeModule http'), "Node's modules were listed")
  })

  it('the index thread loads nothing of the API', () => {
    const { files } = loadedBy('roles/index-worker.ts')
    const http = /\/src\/(serving\/(api|http)\/|chains\/statistics\/|chains\/datasets\/.*route)/
    assert.deepEqual(
      files.filter((file) => http.test(file)),
      [],
    )
  })
})
