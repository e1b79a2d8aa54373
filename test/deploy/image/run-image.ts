import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { freePort } from '#base/free-port.ts'
import { localFile } from '#main/local-chains.ts'
import { eventually } from '#test/world.ts'
import { type BuiltImage, buildImage } from './build-image.ts'

const MEGABYTE = 2 ** 20
const canMount = spawnSync('unshare', ['--mount', 'true']).status === 0

describe('the image, its commands run by hand in empty roots', {
  skip: !canMount && 'mounts are not allowed here',
}, () => {
  let image: BuiltImage
  let port: number
  before(async () => {
    image = await buildImage((line) => process.stdout.write(`# ${line}\n`))
    port = await freePort(0)
    // Nothing answers there.
    const nowhere = { base: 'http://127.0.0.1:9', ethereum: 'http://127.0.0.1:9' }
    const file = join(image.root.folder, 'etc/ecosystem.json')
    await writeFile(file, JSON.stringify(localFile(port, nowhere)))
  })
  after(() => image.close())

  const container = (command: readonly string[], more: Readonly<Record<string, string>> = {}) => {
    const { config, root } = image
    const own = { HOST: '127.0.0.1', PORT: String(port), SEXTON_METRICS_PORT: 'off' }
    const environment = { ...config.environment, ...own, ...more }
    return root.spawn({ ...config, environment, command, isReadOnly: true })
  }
  const ended = async (command: readonly string[], more?: Readonly<Record<string, string>>) => {
    const child = container(command, more)
    let text = ''
    child.stderr?.on('data', (chunk) => {
      text += String(chunk)
    })
    const [code] = await once(child, 'close')
    return { code, text }
  }

  test('holds the bundle and the packages that it imports by name, in at most 40 MB', () => {
    const folder = join(image.root.folder, 'sexton')
    const { stdout } = spawnSync('du', ['-sb', folder], { encoding: 'utf8' })
    const megabytes = Number.parseInt(stdout, 10) / MEGABYTE
    process.stdout.write(`# /sexton has ${megabytes.toFixed(1)} MB\n`)
    assert.ok(megabytes < 40, `${megabytes} MB`)
    for (const name of ['vite', 'esbuild', 'typescript', '@biomejs'])
      assert.ok(!existsSync(join(folder, 'node_modules', name)), name)
  })

  test('without an ecosystem file, says what is missing', async () => {
    const { code, text } = await ended([...image.config.entrypoint, ...image.config.command])
    assert.match(text, /local chains need anvil/)
    assert.notEqual(code, 0)
  })

  test('serves as a user without rights on a read-only root, is healthy, and stops on SIGTERM', async () => {
    assert.equal((await ended(image.config.healthcheck)).code, 1)
    const settings = { SEXTON_ECOSYSTEM: '/etc/ecosystem.json' }
    const child = container([...image.config.entrypoint, 'start', '--api-only'], settings)
    const exit = once(child, 'exit')
    const origin = `http://127.0.0.1:${port}`
    const isUp = () =>
      fetch(`${origin}/healthz`).then(
        ({ ok }) => ok || undefined,
        () => undefined,
      )
    await eventually(isUp, 20_000)
    assert.equal((await ended(image.config.healthcheck)).code, 0)
    for (const path of ['/scalar/v1', '/scalar/v1/scalar.js', '/', '/problems/rate_limited'])
      assert.equal((await fetch(origin + path)).status, 200, path)
    assert.equal((await stat(join(image.root.folder, 'data/accounts.sqlite'))).uid, 1000)
    child.kill('SIGTERM')
    assert.deepEqual(await exit, [0, null])
  })
})
