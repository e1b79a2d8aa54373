import assert from 'node:assert/strict'
import { sql } from '#store/sql.ts'
import { testsOnFeed } from '#test/webhooks/tests-on-feed.ts'

const guarantee = testsOnFeed()

guarantee('a reset reaches back to every event that did not come', async (world, feed) => {
  const key = await world.callers.mint()
  const receiver = await world.receiver()
  world.now.ms += 1_000 * 3_600_000
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
  const key = await world.callers.mint()
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
  const deliverer = world.deliverer()
  await deliverer.pass()
  const before = (await world.show(key, webhookId)).cursor
  await feed.burn(1_200)
  await deliverer.pass()
  assert.notEqual((await world.show(key, webhookId)).cursor, before)
})
