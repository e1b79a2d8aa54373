import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFile, utimes } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { freePort } from '#base/free-port.ts'
import { copySharedHistory } from '#test/start-own-devnet.ts'
import { copyProject } from './project-copy.ts'

/** Ten times the promised second, for a loaded machine. */
const RESTART_MS_MAX = 10_000

test('npm run dev restarts the service after a change, and keeps the local chains', async (context) => {
  const root = await copyProject(context)
  await copySharedHistory(join(root, '.sexton/dev/chains'))
  const child = spawn(process.execPath, [join(root, 'tools/dev.ts')], {
    env: {
      PATH: process.env.PATH,
      // Of paths that no later run has.
      NODE_COMPILE_CACHE: join(root, 'compiled'),
      PORT: String(await freePort(0)),
      SEXTON_METRICS_PORT: 'off',
    },
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  context.after(() => child.kill('SIGKILL'))
  let shown = ''
  child.stderr.on('data', (chunk) => {
    shown += String(chunk)
  })
  const ended = once(child, 'exit')
  const untilReady = async (times: number) => {
    while (shown.split('Sexton is ready').length <= times) {
      assert.equal(child.exitCode, null, shown)
      await Promise.race([once(child.stderr, 'data'), ended])
    }
  }
  const nodes = () =>
    Promise.all(
      ['base', 'ethereum'].map((chain) =>
        readFile(join(root, `.sexton/dev/chains/${chain}.anvil.pid`), 'utf8'),
      ),
    )
  await untilReady(1)
  const before = await nodes()
  const changedAtMs = performance.now()
  await utimes(join(root, 'src/api/pipeline.ts'), new Date(), new Date())
  await untilReady(2)
  const tookMs = performance.now() - changedAtMs
  assert.ok(tookMs < RESTART_MS_MAX, `${tookMs} ms`)
  assert.deepEqual(await nodes(), before)

  child.kill('SIGINT')
  const [code] = await ended
  assert.equal(code, 0, shown)
})
