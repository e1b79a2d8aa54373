import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { Session } from 'node:inspector/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { eventually, mintKey, startWorld } from './world.ts'

const root = join(import.meta.dirname, '..')

/** The verifier works beside the answers: what is not part of every walk is not of the walk. */
const WALKS = 12

/** A newcomer reads the way of a request in one sitting; raise this only with a reason. */
const FILES_MAX = 30

test('a warm keyed GET enters few files, all of them drawn in docs/architecture.md', async () => {
  const world = await startWorld()
  const session = new Session()
  session.connect()
  try {
    const mint = () => mintKey(world.api, world.devnet.wallets.holder).catch(() => undefined)
    const key = await eventually(mint, 10_000)
    const ask = () => fetch(`${world.origin}/api/stats`, { headers: key.authorization })
    for (let call = 0; call < WALKS; call += 1) assert.equal((await ask()).status, 200)
    await session.post('Profiler.enable')
    await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false })
    const entered = new Map<string, number>()
    for (let walk = 0; walk < WALKS; walk += 1) {
      await session.post('Profiler.takePreciseCoverage')
      assert.equal((await ask()).status, 200)
      const { result } = await session.post('Profiler.takePreciseCoverage')
      for (const { url, functions } of result)
        if (url.includes('/src/') && functions.some(({ ranges }) => ranges[0]?.count))
          entered.set(url, (entered.get(url) ?? 0) + 1)
    }
    const walk = [...entered]
      .filter(([, walks]) => walks === WALKS)
      .map(([url]) => url.slice(url.indexOf('/src/') + '/src/'.length))
    const drawing = await readFile(join(root, 'docs/architecture.md'), 'utf8')
    const missing = walk.filter((file) => !drawing.includes(file.split('/').at(-1) ?? file))
    assert.deepEqual(missing, [])
    assert.ok(walk.length <= FILES_MAX, `${walk.length} files: ${walk.join(', ')}`)
  } finally {
    session.disconnect()
    await world.stop()
  }
})
