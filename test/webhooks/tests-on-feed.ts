import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { accountsMigrations } from '#main/stores.ts'
import { assertSound } from '#test/callers/callers-harness.ts'
import { type EngineTest, onSqlite } from '#test/store/each-engine.ts'
import {
  createWebhookWorld,
  type FeedWorld,
  startFeedWorld,
  type WebhookWorld,
} from './webhook-world.ts'

type Work = (world: WebhookWorld, feed: FeedWorld) => Promise<void>

const onOne: EngineTest = (name, work) => void test(name, () => onSqlite(accountsMigrations, work))

/** Declares tests that share one feed, each on accounts of its own that must be sound at its end. */
export function testsOnFeed(): (name: string, work: Work, on?: EngineTest) => void {
  let feed: FeedWorld | undefined
  before(async () => {
    feed = await startFeedWorld()
  })
  after(() => feed?.end())
  return (name, work, on = onOne) =>
    on(name, async ({ engine }) => {
      assert.ok(feed !== undefined)
      const world = createWebhookWorld(feed, engine)
      try {
        await work(world, feed)
        assert.deepEqual(world.reported, [])
      } finally {
        await world.end()
      }
      await assertSound(engine)
    })
}
