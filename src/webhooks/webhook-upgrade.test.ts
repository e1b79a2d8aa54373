import assert from 'node:assert/strict'
import { after, before } from 'node:test'
import { readEnd } from '#indexer/feed/read-feed.ts'
import { eachEngine } from '#ledger/each-engine.ts'
import { accountsMigrations } from '#main/stores.ts'
import { sql } from '#store/sql.ts'
import { startPostgres } from '#test/postgres.ts'
import { createWebhookWorld, type FeedWorld, startFeedWorld } from '#test/webhooks/webhook-world.ts'

const before1502 = accountsMigrations.filter(({ id }) => id !== 1502)
const onEarlier = eachEngine(startPostgres, before1502)
let feed: FeedWorld
before(async () => {
  feed = await startFeedWorld()
})
after(() => feed.end())

const QUEUED_UNIX = 1_700_000_000

onEarlier(
  'a webhook of the earlier tables goes on at its cursor, and one with a queue gets a reset from its start',
  async ({ engine }) => {
    const world = createWebhookWorld(feed, engine)
    const key = await world.access.mint()
    const [idle, queued] = [await world.receiver(), await world.receiver()]
    const end = await feed.register.snapshot(readEnd)
    assert.ok(end !== undefined)
    for (const [id, { url }] of Object.entries({ idle, queued }))
      await engine.write((connection) =>
        connection.run(sql`
          insert into webhooks (id, public_id, url, filter, state, challenge, epoch, sequence,
            last_place, created_unix)
          values (${id}, ${key.publicId}, ${url}, '{"kind":"burn"}', 'active', 'c', ${end.epoch},
            ${end.sequence}, 1, ${QUEUED_UNIX})`),
      )
    await engine.write((connection) =>
      connection.run(sql`
        insert into webhook_events (id, webhook_id, place, type, payload, state, is_free, queued_unix)
        values ('e', 'queued', 1, 'burn.add', '{}', 'waiting', 0, ${QUEUED_UNIX})`),
    )
    await engine.migrate(accountsMigrations)
    await feed.burn()
    await world.deliver()
    assert.deepEqual(
      idle.events.map(({ type }) => type),
      ['burn.add'],
    )
    const [reset, ...more] = queued.events
    assert.deepEqual([reset?.type, more.length], ['feed.reset', 0])
    assert.ok(Number(reset?.data.sinceUnix) <= QUEUED_UNIX, 'before its first event')
    await feed.burn()
    await world.deliver()
    assert.equal(queued.events.at(-1)?.type, 'burn.add')
    assert.deepEqual(world.reported, [])
    await world.end()
  },
)
