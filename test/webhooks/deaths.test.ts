import assert from 'node:assert/strict'
import { test } from 'node:test'
import { WebhookSender } from '#feed/send-webhooks.ts'
import { accountsMigrations } from '#main/stores.ts'
import { assertSound } from '#test/callers/callers-harness.ts'
import { onSqlite } from '#test/store/each-engine.ts'
import { isLongVersion } from '../long-version.ts'
import { SILENT } from '../test-context.ts'
import { DeadError, makeMortalEngine } from './mortal-engine.ts'
import {
  countedCalls,
  createWebhookWorld,
  type FeedWorld,
  hasWork,
  startFeedWorld,
  webhookContext,
} from './webhook-world.ts'

/** Every step in the long version; each is two senders. */
const EVERY = isLongVersion ? 1 : 11

/** One more than quota and money of the wallet pay for, so that the last waits. */
const EVENTS = 5
const CALLS_BEFORE = 8

test('a sender that dies at any statement or commit loses nothing, keeps the order, and charges once', async () => {
  const feed = await startFeedWorld()
  try {
    let at = 1
    while (await diesAt(feed, at)) at += EVERY
    assert.ok(at > 45, `${at} steps`)
  } finally {
    await feed.end()
  }
})

/** Whether it came so far. */
async function diesAt(feed: FeedWorld, at: number): Promise<boolean> {
  let died = false
  await onSqlite(accountsMigrations, async ({ engine }) => {
    const world = createWebhookWorld(feed, engine)
    const mortal = makeMortalEngine(engine)
    const errors: unknown[] = []
    const sender = new WebhookSender(
      webhookContext(feed, mortal.engine, {
        clock: () => world.now.ms,
        logger: { ...SILENT, error: ({ err }: { err: unknown }) => void errors.push(err) },
      }),
    )
    try {
      const key = await world.callers.mint()
      const receiver = await world.receiver()
      await world.webhook(key, receiver, { kind: 'burn' })
      await world.callers.admit(key.secret, CALLS_BEFORE)
      await world.callers.fund(key.publicId, 200n)
      await feed.burn(EVENTS)
      mortal.dieAt(at, () => {
        died = true
      })
      try {
        while (!died && (await hasWork(sender, engine)));
      } catch (error) {
        errors.push(error)
      }
      mortal.die()
      await sender.stop()
      assert.deepEqual(
        errors.filter((each) => !(each instanceof DeadError)),
        [],
      )
      world.now.ms += 61_000
      await world.deliver()
      const order = [...new Set(receiver.events.map(({ id }) => id))]
      assert.deepEqual(order, order.toSorted(bySequence), `order after ${at}`)
      assert.equal(order.length, EVENTS - 1)
      const counted = await countedCalls(engine, key)
      assert.deepEqual(counted, { used: 10, paid: 2 }, `charges after ${at}`)
    } finally {
      await sender.stop()
      await world.end()
    }
    await assertSound(engine)
  })
  return died
}

function bySequence(a: string, b: string): number {
  return Number(a.split('-').at(-2)) - Number(b.split('-').at(-2))
}
