import assert from 'node:assert/strict'
import { accountsMigrations } from '#main/stores.ts'
import { sql } from '#store/sql.ts'
import { bodyOf } from '#test/callers/callers-harness.ts'
import { startPostgres } from '#test/postgres.ts'
import { eachEngine } from '#test/store/each-engine.ts'
import { testsOnFeed } from '#test/webhooks/tests-on-feed.ts'

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
  'what was in flight as the money ran out comes again once there is money, and is paid once',
  async (world, feed) => {
    const key = await world.callers.mint()
    const [receiver, other] = [await world.receiver(), await world.receiver()]
    const webhookId = await world.webhook(key, receiver, { kind: 'burn' })
    const otherId = await world.webhook(key, other, { kind: 'dig' })
    receiver.behave = async (response) => {
      await world.callers.admit(key.secret, 10)
      response.writeHead(204).end()
    }
    await feed.burn(2)
    await world.deliver()
    assert.equal(receiver.events.length, 1)
    assert.deepEqual(await world.counted(key), { used: 10, paid: 0 })
    for (const each of [webhookId, otherId])
      assert.equal((await world.show(key, each)).state, 'unfunded', 'all of the wallet')
    await world.callers.fund(key.publicId, 200n)
    receiver.behave = (response) => response.writeHead(204).end()
    world.now.ms += MINUTE_MS
    await world.deliver()
    const ids = receiver.events.map(({ id }) => id)
    assert.deepEqual([ids.length, new Set(ids).size], [3, 2])
    assert.deepEqual(await world.counted(key), { used: 10, paid: 2 })
  },
  onBoth,
)

guarantee(
  'a webhook follows its key through a rotation, and ends with its revocation',
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
    await world.callers.revoke(next)
    await feed.burn()
    await world.deliver()
    assert.equal(receiver.events.length, 1)
  },
  onBoth,
)

guarantee(
  'a webhook ends with its key in whatever state it is',
  async (world) => {
    const key = await world.callers.mint()
    const receiver = await world.receiver()
    for (let count = 0; count < 3; count += 1) await world.webhook(key, receiver)
    await world.engine.write(async (connection) => {
      const found = await connection.run(sql`select id from webhooks order by id`)
      for (const [index, state] of ['disabled', 'failing', 'ended'].entries())
        await connection.run(sql`
          update webhooks set state = ${state}, due_ms = ${world.now.ms + index * HOUR_MS}
          where id = ${String(found[index]?.id)}`)
    })
    const next = await world.callers.rotate(key)
    await world.callers.revoke(next)
    world.now.ms += 3 * HOUR_MS
    await world.deliver()
    const found = await world.engine.read(sql`select state, reason, due_ms from webhooks`)
    const ended = { state: 'ended', reason: 'key_revoked', due_ms: null }
    assert.deepEqual(found, [ended, ended, ended])
  },
  onBoth,
)

guarantee('one stuck receiver of many delays nobody else', async (world, feed) => {
  const key = await world.callers.mint()
  await world.callers.fund(key.publicId, 10_000n)
  const stuck = await world.receiver()
  const others = await Promise.all(Array.from({ length: 8 }, () => world.receiver()))
  await world.webhook(key, stuck, { kind: 'burn' })
  for (const each of others) await world.webhook(key, each, { kind: 'burn' })
  stuck.behave = () => undefined
  await feed.burn(3)
  const deliverer = world.deliverer({ timeoutMs: 10_000 })
  const startedMs = performance.now()
  while (others.some(({ events }) => events.length < 3)) {
    await deliverer.pass()
    await new Promise((resolve) => setImmediate(resolve))
    assert.ok(performance.now() - startedMs < 5_000, 'the others wait for the stuck one')
  }
  while (stuck.events.length === 0) {
    await deliverer.pass()
    await new Promise((resolve) => setImmediate(resolve))
  }
  assert.equal(stuck.events.length, 1)
  await deliverer.stop()
})

guarantee(
  'what a receiver asked for holds, also while the wallet cannot pay, which is no failure',
  async (world, feed) => {
    const key = await world.callers.mint()
    const [receiver, other] = [await world.receiver(), await world.receiver()]
    await world.webhook(key, receiver, { kind: 'burn' })
    receiver.behave = (response) => response.writeHead(503, { 'retry-after': '900000' }).end()
    const deliverer = world.deliverer({ random: () => 1 })
    await feed.burn()
    await world.deliver(deliverer)
    await world.webhook(key, other, { kind: 'burn' })
    other.behave = async (response) => {
      await world.callers.admit(key.secret, 10)
      response.writeHead(204).end()
    }
    await feed.burn()
    await world.deliver(deliverer)
    assert.equal(receiver.events.length, 1)
    const [own] = await world.engine.read(sql`
      select state, failing_unix, due_ms from webhooks where url = ${receiver.url}`)
    assert.deepEqual([own?.state, own?.failing_unix], ['unfunded', null])
    assert.ok(Number(own?.due_ms) > world.now.ms + 7 * 24 * HOUR_MS)
  },
  onBoth,
)

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
    await feed.reset()
    await feed.burn()
    await world.deliver()
    const [reset] = receiver.events
    assert.deepEqual(
      receiver.events.map(({ type, webhookId, url }) => [type, webhookId, url]),
      ['feed.reset', 'burn.add'].map((type) => [type, id, receiver.url]),
    )
    assert.deepEqual(
      [reset?.data.chain, reset?.data.fromBlock, reset?.data.toBlock],
      ['base', 0, null],
    )
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
    assert.ok(Number(first?.data.sinceUnix) > 0)
    assert.equal((await world.show(key, webhookId)).state, 'active')
    assert.deepEqual(await world.counted(key), { used: 2, paid: 0 })
  },
)

guarantee(
  'two deliverers at once lose nothing, charge nothing twice, and what comes twice has one id',
  async (world, feed) => {
    const key = await world.callers.mint()
    const receiver = await world.receiver()
    await world.webhook(key, receiver, { kind: 'burn' })
    const held: (() => void)[] = []
    receiver.behave = (response) => held.push(() => response.writeHead(204).end())
    await feed.burn()
    const [first, second] = [world.deliverer(), world.deliverer()]
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
  'a webhook that fails for a week is disabled with its cursor kept',
  async (world, feed) => {
    const key = await world.callers.mint()
    const receiver = await world.receiver()
    const webhookId = await world.webhook(key, receiver, { kind: 'burn' })
    await feed.burn()
    receiver.behave = (response) => response.writeHead(302, { location: receiver.url }).end()
    for (let hour = 0; hour < 172; hour += 2, world.now.ms += 2 * HOUR_MS) await world.deliver()
    const { state, reason, lastAnswer } = await world.show(key, webhookId)
    assert.deepEqual([state, reason, lastAnswer?.answer], ['disabled', 'failing', '302'])
    receiver.behave = (response) => response.writeHead(204).end()
    await world.call(key, 'enableWebhook', { webhookId })
    await world.deliver()
    assert.equal(new Set(receiver.events.map(({ id }) => id)).size, 1)
    assert.deepEqual(await world.counted(key), { used: 1, paid: 0 })
  },
)

guarantee('a daily cap holds, and the rest comes the next day', async (world, feed) => {
  const key = await world.callers.mint()
  const receiver = await world.receiver()
  const { url } = receiver
  const body = { url, filter: { kind: 'burn' }, dailyCap: 2 }
  bodyOf(await world.call(key, 'registerWebhook', { body }))
  await world.deliver()
  await feed.burn(3)
  await world.deliver()
  assert.equal(receiver.events.length, 2)
  world.now.ms += 24 * HOUR_MS
  await world.deliver()
  assert.equal(receiver.events.length, 3)
})

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

guarantee(
  'a reorg retracts what came, and finalized webhooks get it when it is final',
  async (world, feed) => {
    const key = await world.callers.mint()
    await world.callers.fund(key.publicId, 10_000n)
    const [receiver, patient] = [await world.receiver(), await world.receiver()]
    await world.webhook(key, receiver, { kind: 'burn' })
    await world.webhook(key, patient, { kind: 'burn', finality: 'finalized' })
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
    await feed.burn()
    base.chain = base.chain.addEmpty(12)
    await feed.stream.catchUp()
    await world.deliver()
    const ids = patient.events.map(({ type, data }) => `${type} ${(data.row as { id: string }).id}`)
    assert.equal(new Set(ids).size, ids.length)
    const final = receiver.events.at(-1)?.data.row as { id: string }
    assert.ok(ids.includes(`burn.add ${final.id}`))
    assert.ok(!ids.includes(`burn.add ${added}`), 'what was retracted was never final')
  },
)
