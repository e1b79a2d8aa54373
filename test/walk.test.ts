import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { Session } from 'node:inspector/promises'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { eventually, mintKey, startWorld } from './world.ts'

const root = join(import.meta.dirname, '..')

/** The verifier works beside the answers: what is not part of every walk is not of the walk. */
const WALKS = 12

/** A newcomer reads the way of a request in one sitting; raise these only with a reason. */
const FILES_MAX = { get: 26, claim: 50 }

let world: Awaited<ReturnType<typeof startWorld>>
let key: Awaited<ReturnType<typeof mintKey>>
let session: Session
before(async () => {
  world = await startWorld()
  const mint = () => mintKey(world.api, world.devnet.wallets.holder).catch(() => undefined)
  key = await eventually(mint, 10_000)
  session = new Session()
  session.connect()
  await session.post('Profiler.enable')
  await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false })
})
after(async () => {
  session.disconnect()
  await world.stop()
})

/** Files below `src/` that every walk enters, once warm. */
async function walk(go: () => Promise<void>): Promise<readonly string[]> {
  for (let call = 0; call < WALKS; call += 1) await go()
  const entered = new Map<string, number>()
  for (let walk = 0; walk < WALKS; walk += 1) {
    await session.post('Profiler.takePreciseCoverage')
    await go()
    const { result } = await session.post('Profiler.takePreciseCoverage')
    for (const { url, functions } of result)
      if (url.includes('/src/') && functions.some(({ ranges }) => ranges[0]?.count))
        entered.set(url, (entered.get(url) ?? 0) + 1)
  }
  return [...entered]
    .filter(([, walks]) => walks === WALKS)
    .map(([url]) => url.slice(url.indexOf('/src/') + '/src/'.length))
}

async function assertDrawn(files: readonly string[], most: number): Promise<void> {
  const drawing = await readFile(join(root, 'docs/architecture.md'), 'utf8')
  const missing = files.filter((file) => !drawing.includes(file.split('/').at(-1) ?? file))
  assert.deepEqual(missing, [])
  assert.ok(files.length <= most, `${files.length} files: ${files.join(', ')}`)
}

test('a warm keyed GET enters few files, all of them drawn in docs/architecture.md', async () => {
  const files = await walk(async () => {
    const answer = await fetch(`${world.origin}/api/stats`, { headers: key.authorization })
    assert.equal(answer.status, 200)
  })
  await assertDrawn(files, FILES_MAX.get)
})

test('a claim that is posted and read enters few files, all of them drawn in docs/architecture.md', async () => {
  const files = await walk(async () => {
    const txHash = `0x${randomBytes(32).toString('hex')}`
    const posted = await world.api.post('/api/sessions/prepay', {
      ...{ apiKeyPublicId: key.publicId, txHash, amountUsd: 1 },
      payerAddress: world.devnet.wallets.holder.address,
    })
    assert.equal(posted.status, 201, posted.text)
    const read = await fetch(`${world.origin}/api/sessions/prepay/${txHash}`)
    assert.equal(read.status, 200)
  })
  await assertDrawn(files, FILES_MAX.claim)
})
