import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { after, before, test } from 'node:test'
import { assertDrawn, startTracing, stopTracing, walk } from './traced-walk.ts'
import { eventually, mintKey, startWorld } from './world.ts'

/** A newcomer reads the way of a request in one sitting; raise these only with a reason. */
const FILES_MAX = { get: 23, claim: 27 }

let world: Awaited<ReturnType<typeof startWorld>>
let key: Awaited<ReturnType<typeof mintKey>>
before(async () => {
  world = await startWorld()
  const mint = () => mintKey(world.api, world.devnet.wallets.holder).catch(() => undefined)
  key = await eventually(mint, 10_000)
  await startTracing()
})
after(async () => {
  stopTracing()
  await world.stop()
})

test('a keyed GET that is not cached enters few files, all of them drawn in docs/architecture.md', async () => {
  let days = 0
  const files = await walk(async () => {
    days += 1
    const url = `${world.origin}/api/burns?period=${days}d`
    const answer = await fetch(url, { headers: key.authorization })
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
