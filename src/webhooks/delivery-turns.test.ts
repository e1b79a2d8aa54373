import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { assertSound, bodyOf } from '#access/access-harness.ts'
import { type EngineTest, eachEngine, onSqlite } from '#ledger/each-engine.ts'
import { accountsMigrations } from '#main/stores.ts'
import { sql } from '#store/sql.ts'
import { startPostgres } from '#test/postgres.ts'
import {
  createWebhookWorld,
  type FeedWorld,
  startFeedWorld,
  type WebhookWorld,
} from '#test/webhooks/webhook-world.ts'

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS

const onBoth = eachEngine(startPostgres, accountsMigrations)
const onOne: EngineTest = (name, work) => void test(name, () => onSqlite(accountsMigrations, work))
let feed: FeedWorld
before(async () => {
  feed = await startFeedWorld()
})
after(() => feed.end())

function guarantee(name: string, work: (world: WebhookWorld) => Promise<void>, on = onOne): void {
  on(name, async ({ engine }) => {
    const world = createWebhookWorld(feed, engine)
    try {
      await work(world)
      assert.deepEqual(world.reported, [])
    } finally {
      await world.end()
    }
    await assertSound(engine)
  })
}

guarantee(
  'after a rebuilt register or a lost commit a reset says since when to read, free and once',
  async (world) => {
    const key = await world.access.mint()
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

guarantee('a reset reaches back to every event that did not come', async (world) => {
  const key = await world.access.mint()
  const receiver = await world.receiver()
  world.now.ms += 1_000 * HOUR_MS
  await world.webhook(key, receiver, { kind: 'burn' })
  await feed.burn()
  await feed.rebuild()
  await world.deliver()
  const [reset] = receiver.events
  const [newest = {}] = await feed.register.read(
    sql`select max(timestamp_unix) as unix from events`,
  )
  assert.equal(reset?.type, 'feed.reset')
  assert.ok(Number(reset.data.sinceUnix) <= Number(newest.unix))
})

guarantee('a made-up place in a range is a cursor that is lost', async (world) => {
  const key = await world.access.mint()
  const receiver = await world.receiver()
  await world.webhook(key, receiver, { kind: 'burn' })
  await world.engine.write((connection) =>
    connection.run(sql`update webhooks set cursor = cursor || '.1-1-999999'`),
  )
  await world.deliver()
  assert.deepEqual(
    receiver.events.map(({ type }) => type),
    ['feed.reset'],
  )
})

guarantee('a challenge waits until there is a feed', async (world) => {
  const key = await world.access.mint()
  const receiver = await world.receiver()
  const { url } = receiver
  bodyOf(await world.call(key, 'registerWebhook', { body: { url, filter: {} } }))
  const register = Object.create(feed.register, { snapshot: { value: async () => undefined } })
  await world.deliver(world.deliverer({ register }))
  const states = () => world.engine.read(sql`select state from webhooks`)
  assert.deepEqual(await states(), [{ state: 'unverified' }])
  await world.deliver(world.deliverer())
  assert.deepEqual(await states(), [{ state: 'active' }])
})

guarantee(
  'two deliverers at once lose nothing, charge nothing twice, and what comes twice has one id',
  async (world) => {
    const key = await world.access.mint()
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
    await first.settled()
    await feed.burn()
    for (const each of [first, second, first]) await world.deliver(each)
    const ids = receiver.events.map(({ id }) => id)
    assert.deepEqual([ids.length, new Set(ids).size], [3, 2])
    assert.deepEqual(await world.counted(key), { used: 2, paid: 0 })
  },
  onBoth,
)

guarantee('a webhook that fails for a week is disabled with its cursor kept', async (world) => {
  const key = await world.access.mint()
  const receiver = await world.receiver()
  const webhookId = await world.webhook(key, receiver, { kind: 'burn' })
  await feed.burn()
  receiver.behave = (response) => response.writeHead(302, { location: receiver.url }).end()
  for (let hour = 0; hour < 172; hour += 2, world.now.ms += 2 * HOUR_MS) await world.deliver()
  const { state, reason, lastAnswer } = await world.show(key, webhookId)
  assert.deepEqual([state, reason, lastAnswer?.answer], ['disabled', 'failing', '302'])
  receiver.behave = (response) => response.writeHead(204).end()
  await world.call(key, 'challengeWebhook', { webhookId })
  await world.deliver()
  assert.equal(new Set(receiver.events.map(({ id }) => id)).size, 1)
  assert.deepEqual(await world.counted(key), { used: 1, paid: 0 })
})

guarantee('a daily cap holds, and the rest comes the next day', async (world) => {
  const key = await world.access.mint()
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

guarantee('dust below the least amount neither comes nor costs', async (world) => {
  const key = await world.access.mint()
  const [receiver, other] = [await world.receiver(), await world.receiver()]
  await world.webhook(key, receiver, { kind: 'burn', leastAmount: '1.5' })
  await world.webhook(key, other, { kind: 'burn', leastAmount: '1' })
  await feed.burn()
  await world.deliver()
  assert.deepEqual([receiver.events.length, other.events.length], [0, 1])
  assert.deepEqual(await world.counted(key), { used: 1, paid: 0 })
})

guarantee('a cursor moves past what does not match, and is stored in bulk', async (world) => {
  const key = await world.access.mint()
  const receiver = await world.receiver()
  const webhookId = await world.webhook(key, receiver, { kind: 'dig' })
  const before = (await world.show(key, webhookId)).cursor
  await feed.burn(3)
  world.now.ms += 6_000
  await world.deliver()
  assert.notEqual((await world.show(key, webhookId)).cursor, before)
  assert.equal(receiver.events.length, 0)
})

guarantee(
  'a reorg retracts what came, and finalized webhooks get it when it is final',
  async (world) => {
    const key = await world.access.mint()
    await world.access.fund(key.publicId, 10_000n)
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

guarantee('a webhook far behind keeps what a pass has read for it', async (world) => {
  const key = await world.access.mint()
  const webhookId = await world.webhook(key, await world.receiver(), { kind: 'dig' })
  const deliverer = world.deliverer()
  await deliverer.pass()
  const before = (await world.show(key, webhookId)).cursor
  await feed.burn(1_200)
  await deliverer.pass()
  assert.notEqual((await world.show(key, webhookId)).cursor, before)
})
