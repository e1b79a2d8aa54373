import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { after, before, test } from 'node:test'
import { assertDrawn, startTracing, stopTracing, walk } from './traced-walk.ts'
import type { MintedKey } from './world.ts'
import { newVisitor } from './x402/raw-payment.ts'
import {
  mintOpened,
  newPayer,
  payingFetch,
  startX402World,
  type X402World,
} from './x402/x402-world.ts'

/** A newcomer reads the way of a request in one sitting; raise these only with a reason. */
const FILES_MAX = { get: 22, claim: 22, paid: 38 }

let world: X402World
let key: MintedKey
before(async () => {
  world = await startX402World({
    environment: { SEXTON_TRUSTED_PROXIES: '127.0.0.1/32' },
    change: (file) => ({ ...file, quotas: { ...file.quotas, free: 2_000 } }),
  })
  key = await mintOpened(world, world.devnet.wallets.holder)
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

test('a GET that an x402 client pays enters few files, from its 402 on, all of them drawn in docs/architecture.md', async () => {
  let days = 100
  let visit: () => Promise<Response>
  const files = await walk(
    async () => {
      const answer = await visit()
      assert.equal(answer.status, 200, await answer.clone().text())
      assert.equal(answer.headers.get('x-ratelimit-source'), 'prepaid')
    },
    {
      async before() {
        days += 1
        const url = `${world.origin}/api/burns?period=${days}d`
        const payer = await newPayer(world.base, 1_000_000n)
        const { from: headers } = await newVisitor(world)
        visit = () => payingFetch(payer)(url, { headers })
      },
    },
  )
  await assertDrawn(files, FILES_MAX.paid)
})
