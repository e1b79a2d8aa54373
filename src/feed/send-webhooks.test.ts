import assert from 'node:assert/strict'
import { setTimeout as sleep } from 'node:timers/promises'
import { sql } from '#db/sql.ts'
import { accountsMigrations } from '#main/stores.ts'
import { startPostgres } from '#test/postgres.ts'
import { eachEngine } from '#test/store/each-engine.ts'
import type { Receiver } from '#test/webhooks/receiver.ts'
import { testsOnFeed } from '#test/webhooks/tests-on-feed.ts'
import type { WebhookWorld } from '#test/webhooks/webhook-world.ts'
import type { WebhookSender } from './send-webhooks.ts'
import { insertWebhook } from './webhook-store.ts'

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS

const onBoth = eachEngine(startPostgres, accountsMigrations)
const guarantee = testsOnFeed()

guarantee(
  'events come signed, in order, and cost one call each',
  async (world, feed) => {
    const key = await world.callers.mint()
    const receiver = await world.receiver()
    await world.webhook(key, receiver, { kind: 'burn' })
    await feed.burn(2)
    await feed.burn()
    await world.deliver()
    assert.deepEqual(
      receiver.events.map(({ type }) => type),
      ['burn.add', 'burn.add', 'burn.add'],
    )
    const rows = receiver.events.map(({ data }) => data.row as { id: string; blockNumber: number })
    assert.equal(new Set(rows.map(({ id }) => id)).size, 3)
    assert.deepEqual(
      rows,
      rows.toSorted((a, b) => a.blockNumber - b.blockNumber),
    )
    assert.deepEqual(await world.counted(key), { used: 3, paid: 0 })
  },
  onBoth,
)

guarantee(
  'a receiver that is away for an hour gets all of it, in order, charged once',
  async (world, feed) => {
    const key = await world.callers.mint()
    const receiver = await world.receiver()
    const id = await world.webhook(key, receiver, { kind: 'burn' })
    receiver.behave = (response) => response.writeHead(500).end()
    await feed.burn(3)
    const endMs = world.now.ms + HOUR_MS
    for (; world.now.ms < endMs; world.now.ms += 5 * MINUTE_MS) await world.deliver()
    assert.ok(receiver.events.length > 3 && receiver.events.length < 12, 'it backs off')
    assert.equal(new Set(receiver.events.map(({ id }) => id)).size, 1, 'the first holds the others')
    assert.deepEqual(await world.counted(key), { used: 0, paid: 0 })
    receiver.events.length = 0
    receiver.behave = (response) => response.writeHead(200).end('thanks')
    world.now.ms += 2 * HOUR_MS
    await world.deliver()
    assert.equal(new Set(receiver.events.map(({ id }) => id)).size, 3)
    assert.equal(receiver.events.length, 3)
    const { delivered, state, failedAttempts } = await world.show(key, id)
    assert.deepEqual([delivered, state, failedAttempts], [3, 'active', 0])
    assert.deepEqual(await world.counted(key), { used: 3, paid: 0 })
  },
)

guarantee(
  'without quota and balance events wait, and come once there is money',
  async (world, feed) => {
    const key = await world.callers.mint()
    const receiver = await world.receiver()
    const webhookId = await world.webhook(key, receiver, { kind: 'burn' })
    await world.callers.admit(key.secret, 9)
    await feed.burn(3)
    await world.deliver()
    assert.equal(receiver.events.length, 1)
    const { state, lastAnswer } = await world.show(key, webhookId)
    assert.deepEqual([state, lastAnswer?.answer], ['unfunded', 'payment_required'])
    await world.callers.fund(key.publicId, 100n)
    world.now.ms += MINUTE_MS
    await world.deliver()
    assert.equal(receiver.events.length, 2)
    assert.deepEqual(await world.counted(key), { used: 10, paid: 1 })
    for (let hour = 0; hour < 14; hour += 1, world.now.ms += HOUR_MS) await world.deliver()
    assert.equal(receiver.events.length, 3, 'the quota of the next day pays')
  },
)

guarantee(
  'a webhook follows its key through a rotation',
  async (world, feed) => {
    const key = await world.callers.mint()
    const receiver = await world.receiver()
    const webhookId = await world.webhook(key, receiver, { kind: 'burn' })
    await world.callers.admit(key.secret, 10)
    await world.callers.fund(key.publicId, 300n)
    const next = await world.callers.rotate(key)
    await feed.burn()
    await world.deliver()
    assert.equal(receiver.events.length, 1)
    assert.deepEqual(await world.counted(next), { used: 10, paid: 1 })
    assert.equal((await world.show(next, webhookId)).delivered, 1)
  },
  onBoth,
)

guarantee(
  'a webhook is removed with its key, also while it waits for its next attempt',
  async (world, feed) => {
    const key = await world.callers.mint()
    const receiver = await world.receiver()
    receiver.behave = (response) => response.writeHead(500).end()
    await world.webhook(key, receiver, { kind: 'burn' })
    await world.webhook(key, receiver, { kind: 'dig' })
    await feed.burn()
    await world.deliver()
    const next = await world.callers.rotate(key)
    await world.callers.revoke(next)
    world.now.ms += MINUTE_MS
    await world.deliver()
    assert.deepEqual(await world.engine.read(sql`select id from webhooks`), [])
    assert.equal(receiver.events.length, 1)
  },
  onBoth,
)

guarantee('a webhook waits while its key has expired', async (world, feed) => {
  const key = await world.callers.mint()
  const receiver = await world.receiver()
  await world.webhook(key, receiver, { kind: 'burn' })
  const setEnd = (unix: number | null) =>
    world.engine.write((tx) =>
      tx.run(
        sql`update keys set limits = ${unix === null ? null : JSON.stringify({ expiresUnix: unix })}`,
      ),
    )
  await setEnd(1)
  await feed.burn()
  await world.deliver()
  assert.equal(receiver.events.length, 0)
  await setEnd(null)
  await world.deliver()
  assert.equal(receiver.events.length, 1)
})

/** Webhooks of other wallets, each with the key of the first. */
async function addHostile(world: WebhookWorld, count: number, urlOf: (nth: number) => string) {
  const [row = {}] = await world.engine.read(sql`select * from webhooks limit 1`)
  const own = { publicId: String(row.public_id), cursor: String(row.cursor) }
  await world.engine.write(async (tx) => {
    for (let nth = 0; nth < count; nth += 1)
      await insertWebhook(tx, {
        ...own,
        id: `${String(nth).padStart(8, '0')}-hostile`,
        wallet: `0x${Math.floor(nth / 20)}`,
        url: urlOf(nth),
        filter: '{"kind":"burn"}',
        secret: 'whsec_',
        createdUnix: 0,
      })
  })
}

/** Passes as the job does, until the receiver has an event. */
async function untilReceived(sender: WebhookSender, receiver: Receiver): Promise<number> {
  const startedMs = performance.now()
  while (receiver.events.length === 0 && performance.now() - startedMs < 10_000) {
    await sender.pass()
    await sleep(20)
  }
  return performance.now() - startedMs
}

guarantee('a host that does not answer delays only its own', async (world, feed) => {
  const key = await world.callers.mint()
  await world.callers.fund(key.publicId, 10_000n)
  const [honest, slow] = [await world.receiver(), await world.receiver()]
  await world.webhook(key, honest, { kind: 'burn' })
  slow.behave = () => undefined
  await addHostile(world, 2_000, () => slow.url)
  await feed.burn()
  const sender = world.sender()
  assert.ok((await untilReceived(sender, honest)) < 2_000)
  assert.ok(slow.requests <= 1)
  await sender.stop()
})

guarantee(
  '410 disables, and once enabled again it goes on at the same event',
  async (world, feed) => {
    const key = await world.callers.mint()
    const receiver = await world.receiver()
    const webhookId = await world.webhook(key, receiver, { kind: 'burn' })
    receiver.behave = (response) => response.writeHead(410).end()
    await feed.burn()
    await world.deliver()
    const { state, reason } = await world.show(key, webhookId)
    assert.deepEqual([state, reason], ['disabled', 'gone'])
    receiver.behave = (response) => response.writeHead(204).end()
    await world.call(key, 'enableWebhook', { webhookId })
    await world.deliver()
    await feed.burn()
    await world.deliver()
    const ids = receiver.events.map(({ id }) => id)
    assert.deepEqual([ids.length, new Set(ids).size], [3, 2])
  },
)

guarantee(
  'a reset of the feed is told, for free, and what follows it comes',
  async (world, feed) => {
    const key = await world.callers.mint()
    const receiver = await world.receiver()
    const id = await world.webhook(key, receiver, { kind: 'burn', chain: 'base' })
    feed.stream.base.chain = feed.stream.base.chain.addEmpty(150)
    await feed.burn()
    await world.deliver()
    const [reset] = receiver.events
    assert.deepEqual(
      receiver.events.map(({ type, webhookId, url }) => [type, webhookId, url]),
      ['feed.reset', 'burn.add'].map((type) => [type, id, receiver.url]),
    )
    assert.equal(reset?.data.chain, 'base')
    assert.ok(Number(reset?.data.fromBlock) < Number(reset?.data.toBlock))
    assert.deepEqual(await world.counted(key), { used: 1, paid: 0 })
  },
)

guarantee(
  'after a rebuilt register or a lost commit a reset says since when to read, free and once',
  async (world, feed) => {
    const key = await world.callers.mint()
    const receiver = await world.receiver()
    const webhookId = await world.webhook(key, receiver, { kind: 'burn' })
    await feed.burn()
    await world.deliver()
    await feed.rebuild()
    receiver.behave = (response) => response.writeHead(500).end()
    await world.deliver()
    receiver.behave = (response) => response.writeHead(204).end()
    world.now.ms += MINUTE_MS
    await world.deliver()
    await feed.burn()
    await world.deliver()
    const types = receiver.events.map(({ type }) => type)
    assert.deepEqual(types, ['burn.add', 'feed.reset', 'feed.reset', 'burn.add'])
    const [, first, second] = receiver.events
    assert.equal(first?.id, second?.id)
    assert.equal((await world.show(key, webhookId)).state, 'active')
    assert.deepEqual(await world.counted(key), { used: 2, paid: 0 })
  },
)

guarantee(
  'two senders at once lose nothing, charge nothing twice, and what comes twice has one id',
  async (world, feed) => {
    const key = await world.callers.mint()
    const receiver = await world.receiver()
    await world.webhook(key, receiver, { kind: 'burn' })
    const held: (() => void)[] = []
    receiver.behave = (response) => held.push(() => response.writeHead(204).end())
    await feed.burn()
    const [first, second] = [world.sender(), world.sender()]
    await first.pass()
    while (held.length === 0) await new Promise((resolve) => setImmediate(resolve))
    receiver.behave = (response) => response.writeHead(204).end()
    await world.deliver(second)
    for (const answer of held) answer()
    await first.idle()
    await feed.burn()
    for (const each of [first, second, first]) await world.deliver(each)
    const ids = receiver.events.map(({ id }) => id)
    assert.deepEqual([ids.length, new Set(ids).size], [3, 2])
    assert.deepEqual(await world.counted(key), { used: 2, paid: 0 })
  },
  onBoth,
)

guarantee(
  'a webhook that fails for five days is disabled with its cursor kept',
  async (world, feed) => {
    const key = await world.callers.mint()
    const receiver = await world.receiver()
    const webhookId = await world.webhook(key, receiver, { kind: 'burn' })
    await feed.burn()
    receiver.behave = (response) => response.writeHead(302, { location: receiver.url }).end()
    for (let hour = 0; hour < 136; hour += 2, world.now.ms += 2 * HOUR_MS) await world.deliver()
    const { state, reason, lastAnswer } = await world.show(key, webhookId)
    assert.deepEqual([state, reason, lastAnswer?.answer], ['disabled', 'failing', '302'])
    receiver.behave = (response) => response.writeHead(204).end()
    await world.call(key, 'enableWebhook', { webhookId })
    await world.deliver()
    assert.equal(new Set(receiver.events.map(({ id }) => id)).size, 1)
    assert.deepEqual(await world.counted(key), { used: 1, paid: 0 })
  },
)

guarantee('dust below the least amount neither comes nor costs', async (world, feed) => {
  const key = await world.callers.mint()
  const [receiver, other] = [await world.receiver(), await world.receiver()]
  await world.webhook(key, receiver, { kind: 'burn', leastAmount: '1.5' })
  await world.webhook(key, other, { kind: 'burn', leastAmount: '1' })
  await feed.burn()
  await world.deliver()
  assert.deepEqual([receiver.events.length, other.events.length], [0, 1])
  assert.deepEqual(await world.counted(key), { used: 1, paid: 0 })
})

guarantee('a reorg retracts what came', async (world, feed) => {
  const key = await world.callers.mint()
  await world.callers.fund(key.publicId, 10_000n)
  const receiver = await world.receiver()
  await world.webhook(key, receiver, { kind: 'burn' })
  const { base } = feed.stream
  await feed.burn()
  await world.deliver()
  base.chain = base.chain.fork(base.chain.head.number - 1).addEmpty(2)
  await feed.stream.catchUp()
  await world.deliver()
  assert.deepEqual(
    receiver.events.map(({ type }) => type),
    ['burn.add', 'burn.retract'],
  )
  const [added, retracted] = receiver.events.map(({ data }) => (data.row as { id: string }).id)
  assert.equal(added, retracted)
})

guarantee('a cursor moves past what does not match, and is stored in bulk', async (world, feed) => {
  const key = await world.callers.mint()
  const receiver = await world.receiver()
  const webhookId = await world.webhook(key, receiver, { kind: 'dig' })
  const before = (await world.show(key, webhookId)).cursor
  await feed.burn(3)
  world.now.ms += 6_000
  await world.deliver()
  assert.notEqual((await world.show(key, webhookId)).cursor, before)
  assert.equal(receiver.events.length, 0)
})

guarantee('a webhook far behind keeps what a pass has read for it', async (world, feed) => {
  const key = await world.callers.mint()
  const webhookId = await world.webhook(key, await world.receiver(), { kind: 'dig' })
  const sender = world.sender()
  await sender.pass()
  const before = (await world.show(key, webhookId)).cursor
  await feed.burn(1_200)
  await sender.pass()
  assert.notEqual((await world.show(key, webhookId)).cursor, before)
})
