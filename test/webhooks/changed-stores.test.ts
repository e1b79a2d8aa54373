import assert from 'node:assert/strict'
import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { backup, DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import { openSqlite } from '#db/sqlite/open-sqlite.ts'
import { accountsMigrations, openStore } from '#main/stores.ts'
import { assertSound } from '#test/callers/callers-harness.ts'
import { commitDepsOf, stepIndex } from '../stepped-index.ts'
import type { Receiver } from './receiver.ts'
import {
  createWebhookWorld,
  type FeedWorld,
  startFeedWorld,
  type WebhookWorld,
} from './webhook-world.ts'

interface Live {
  readonly folder: string
  readonly feed: FeedWorld
  readonly world: WebhookWorld
}

/** A register and accounts of their own, which the test replaces. */
function guarantee(name: string, work: (live: Live) => Promise<void>): void {
  test(name, async () => {
    const folder = mkdtempSync(join(tmpdir(), 'sexton-changed-'))
    const feed = await startFeedWorld(folder)
    const accounts = await openStore(folder, 'accounts', { kind: 'sqlite' })
    await accounts.migrate(accountsMigrations)
    const world = createWebhookWorld(feed, accounts)
    try {
      await work({ folder, feed, world })
    } finally {
      await world.end()
      await accounts.close()
      await feed.end()
    }
  })
}

for (const hasCaughtUp of [false, true])
  guarantee(
    `after a failover to a standby that ${hasCaughtUp ? 'read another branch' : 'was behind'}, a reset says since when to read`,
    async ({ folder, feed, world }) => {
      const key = await world.callers.mint()
      const receiver = await world.receiver()
      await world.webhook(key, receiver, { kind: 'burn' })
      await feed.burn()
      await world.deliver()
      const standby = openSqlite({ file: await copyOf(folder, 'register'), durability: 'normal' })
      try {
        await feed.burn()
        await world.deliver()
        const { stream } = feed
        stream.base.chain = stream.base.chain.fork(stream.base.chain.head.number - 1).addEmpty(1)
        stream.index = stepIndex(await commitDepsOf(standby, feed.ecosystem))
        const promoted = world.sender({ register: standby })
        if (hasCaughtUp) await feed.burn(2)
        await world.deliver(promoted)
        await feed.burn()
        await world.deliver(promoted)
        assert.deepEqual(typesOf(receiver), ['burn.add', 'burn.add', 'feed.reset', 'burn.add'])
        const [first, , reset] = receiver.events.map(({ data }) => data)
        const burned = first?.row as { readonly timestampUnix: number } | undefined
        assert.ok(Number(reset?.sinceUnix) <= Number(burned?.timestampUnix))
      } finally {
        await standby.close()
      }
    },
  )

guarantee(
  'after a restore of the accounts the same events come again, with their ids, charged once',
  async (live) => {
    const { folder, feed, world } = live
    const key = await world.callers.mint()
    const receiver = await world.receiver()
    await world.webhook(key, receiver, { kind: 'burn' })
    await feed.burn()
    await world.deliver()
    const restored = openSqlite({ file: await copyOf(folder, 'accounts'), durability: 'full' })
    try {
      await feed.burn(2)
      await world.deliver()
      assert.deepEqual(await world.counted(key), { used: 3, paid: 0 })
      const before = receiver.events.map(({ id }) => id)
      const after = createWebhookWorld(feed, restored)
      after.now.ms = world.now.ms
      await after.deliver()
      assert.deepEqual(
        receiver.events.map(({ id }) => id),
        [...before, ...before.slice(1)],
      )
      assert.deepEqual(await after.counted(key), { used: 3, paid: 0 })
      await after.end()
      await assertSound(restored)
    } finally {
      await restored.close()
    }
  },
)

function typesOf({ events }: Receiver): readonly string[] {
  return events.map(({ type }) => type)
}

async function copyOf(folder: string, name: string): Promise<string> {
  const copy = join(folder, `${name}-copy.sqlite`)
  const database = new DatabaseSync(join(folder, `${name}.sqlite`))
  await backup(database, copy)
  database.close()
  return copy
}
