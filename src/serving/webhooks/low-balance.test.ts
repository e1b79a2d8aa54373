import assert from 'node:assert/strict'
import { after, before } from 'node:test'
import { accountsMigrations } from '#main/stores.ts'
import { bearer, bodyOf } from '#test/callers/callers-harness.ts'
import { startPostgres } from '#test/postgres.ts'
import { eachEngine } from '#test/store/each-engine.ts'
import { createWebhookWorld, type FeedWorld, startFeedWorld } from '#test/webhooks/webhook-world.ts'

const onBoth = eachEngine(startPostgres, accountsMigrations)
let feed: FeedWorld
before(async () => {
  feed = await startFeedWorld()
})
after(() => feed.end())

/** The deliverer looks every five seconds. */
const LOOK_MS = 6_000

onBoth('a balance that falls below the limit is told once, free', async ({ engine }) => {
  const world = createWebhookWorld(feed, engine)
  const { callers } = world
  try {
    const key = await callers.mint()
    const receiver = await world.receiver()
    await world.webhook(key, receiver, { kind: 'dig' })
    const look = async () => {
      world.now.ms += LOOK_MS
      await world.deliver()
      await world.deliver()
      return receiver.events.filter(({ type }) => type === 'balance.low')
    }
    assert.equal((await look()).length, 0, 'without a limit')
    await callers.fund(key.publicId, 300n)
    const limit = {
      path: { publicId: key.publicId },
      method: 'POST',
      body: { lowBalanceUsd: 0.00025 },
    } as const
    bodyOf(await callers.call('/api/keys/{publicId}/limits', { ...limit, ...bearer(key.secret) }))
    assert.equal((await look()).length, 0, 'above it')
    await callers.admit(key.secret, 11)
    await look()
    const [told, ...more] = await look()
    assert.deepEqual(more, [], 'once')
    assert.deepEqual(told?.data, {
      publicId: key.publicId,
      prepaidBalanceUsd: 0.0002,
      lowBalanceUsd: 0.00025,
    })
    assert.deepEqual(await world.counted(key), { used: 10, paid: 1 }, 'and costs nothing')
    await callers.rotate(key)
    assert.equal((await look()).length, 1, 'also for a key that replaces it')
    assert.deepEqual(world.reported, [])
  } finally {
    await world.end()
  }
})
