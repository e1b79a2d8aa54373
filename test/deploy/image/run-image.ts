import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync } from 'node:fs'
import { stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { freePort } from '#base/free-port.ts'
import { localFile } from '#main/local-chains.ts'
import { startOwnDevnet } from '#test/start-own-devnet.ts'
import { eventually } from '#test/world.ts'
import { assertPages } from '#tools/pages-of-files.ts'
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
  })
  after(() => image.close())

  const container = (command: readonly string[]) => {
    const { config, root } = image
    const own = { HOST: '127.0.0.1', PORT: String(port), SEXTON_METRICS_PORT: 'off' }
    const environment = { ...config.environment, ...own }
    return root.spawn({ ...config, environment, command, isReadOnly: true })
  }
  const ended = async (command: readonly string[]) => {
    const child = container(command)
    let text = ''
    child.stderr?.on('data', (chunk) => {
      text += String(chunk)
    })
    const [code] = await once(child, 'close')
    return { code, text }
  }

  test('holds the bundle and the packages that it imports by name, in at most 40 MB', () => {
    const folder = join(image.root.folder, 'sexton')
    assert.deepEqual(readdirSync(join(folder, 'node_modules')), ['.package-lock.json', '@resvg'])
    const { stdout } = spawnSync('du', ['-sb', folder], { encoding: 'utf8' })
    const megabytes = Number.parseInt(stdout, 10) / MEGABYTE
    process.stdout.write(`# /sexton has ${megabytes.toFixed(1)} MB\n`)
    assert.ok(megabytes < 40, `${megabytes} MB`)
  })

  test('without an ecosystem file, says what is missing', async () => {
    const { code, text } = await ended([...image.config.entrypoint, ...image.config.command])
    assert.match(text, /there is no sexton\.config\.ts here/)
    assert.notEqual(code, 0)
  })

  test('serves a file with its module as a user without rights on a read-only root, is healthy, and stops on SIGTERM', async (context) => {
    const folder = join(image.root.folder, 'etc/sexton')
    const devnet = await startOwnDevnet()
    context.after(() => devnet.stop())
    const { base, ethereum } = devnet.chains
    const local = localFile(port, { base: base.rpcUrl, ethereum: ethereum.rpcUrl })
    const graveDigs = local.graveDigs?.map((dig) => ({ ...dig, rows: './digs.ts' }))
    const file = JSON.stringify({ ...local, graveDigs })
    await writeFile(join(folder, 'digs.ts'), 'export const keep = () => true\n')
    await writeFile(
      join(folder, 'sexton.config.ts'),
      `import { defineEcosystem } from 'sexton'\nexport default defineEcosystem(${file})\n`,
    )
    assert.equal((await ended(image.config.healthcheck)).code, 1)
    const child = container([...image.config.entrypoint, ...image.config.command])
    child.stderr?.pipe(process.stderr)
    const exit = once(child, 'exit')
    const origin = `http://127.0.0.1:${port}`
    const isUp = () =>
      fetch(`${origin}/readyz`).then(
        ({ ok }) => ok || undefined,
        () => undefined,
      )
    await eventually(isUp, 20_000)
    assert.equal((await ended(image.config.healthcheck)).code, 0)
    await assertPages(origin)
    assert.equal((await stat(join(image.root.folder, 'data/accounts.sqlite'))).uid, 1000)
    child.kill('SIGTERM')
    assert.deepEqual(await exit, [0, null])
  })
})
