import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { pathToFileURL } from 'node:url'

/**
 * Each file that a thread loads costs a start about 0.2 ms and 70 kB, from wherever it comes, so
 * their number is what keeps a restart short. Whoever needs a larger limit says here what for.
 */
const FILES_MAX = { api: 760, index: 480 }

/** Packages that are loaded when they are needed, by one request or one setting. */
const LATER = ['viem', 'prom-client', 'postgres', 'pino-pretty', '@scalar/', 'ajv', 'yaml']

/** What only HTTP needs. */
const OF_HTTP = ['fastify', 'csv-stringify', 'ipaddr.js', 'commander']

/** Prints every file that a module and its imports are made of, also when it fails at its work. */
const LISTER = `
  import { registerHooks } from 'node:module'
  const urls = []
  registerHooks({
    load(url, context, next) {
      if (url.startsWith('file:')) urls.push(url)
      return next(url, context)
    },
  })
  for (const name of process.argv.slice(1)) await import(name).catch(() => undefined)
  console.log(JSON.stringify(urls))`

function filesOf(...names: readonly string[]): readonly string[] {
  const urls = names.map((name) => pathToFileURL(join(import.meta.dirname, name)).href)
  const parameters = ['--input-type=module', '--eval', LISTER, ...urls]
  const { stdout, stderr } = spawnSync(process.execPath, parameters, { encoding: 'utf8' })
  assert.ok(stdout !== '', stderr)
  return JSON.parse(stdout)
}

function packagesOf(files: readonly string[], names: readonly string[]): readonly string[] {
  return names.filter((name) => files.some((file) => file.includes(`/node_modules/${name}`)))
}

describe('what a start loads', () => {
  for (const [thread, names, later] of [
    ['api', ['../cli/sexton.ts', 'run-start.ts'], LATER],
    ['index', ['index-worker.ts'], [...LATER, ...OF_HTTP]],
  ] as const)
    it(`the ${thread} thread loads few files, and nothing that can wait`, () => {
      const files = filesOf(...names)
      assert.deepEqual(packagesOf(files, later), [])
      assert.ok(files.length > 100, 'the files were counted')
      assert.ok(files.length <= FILES_MAX[thread], `${thread} loads ${files.length} files`)
    })

  it('the index thread loads nothing of the API', () => {
    const files = filesOf('index-worker.ts')
    const http = /\/src\/(api|http|statistics)\/|\/src\/datasets\/.*route/
    assert.deepEqual(
      files.filter((file) => http.test(file)),
      [],
    )
  })
})
