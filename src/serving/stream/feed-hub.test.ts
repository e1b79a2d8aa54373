import assert from 'node:assert/strict'
import { test } from 'node:test'
import { registerMigrations } from '#chains/datasets/datasets.ts'
import { sleep } from '#lib/async.ts'
import { sql } from '#store/sql.ts'
import { onSqlite } from '#test/store/each-engine.ts'
import { testContext } from '#test/test-context.ts'
import { feedOf } from './feed-hub.ts'

test('a register that is built again has no feed until a chain is live again', () =>
  onSqlite(registerMigrations, async ({ engine: register }) => {
    const hub = feedOf(testContext({ register }))
    const isLive = async (wanted: boolean) => {
      while ((await hub.hasFeed()) !== wanted) await sleep(20)
    }
    const start = sql`insert into feed (name, epoch, last, pruned) values ('register', 'e', 0, 1)`
    assert.equal(await hub.hasFeed(), false)
    await register.write((tx) => tx.run(start))
    assert.equal(await hub.hasFeed(), true)
    // The first stream after a rebuild must not be charged for what there is not.
    await register.write((tx) => tx.run(sql`delete from feed`))
    assert.equal(await hub.hasFeed(), false)
    await register.write((tx) => tx.run(start))
    const reading = new AbortController()
    hub.enter(reading.signal)
    await register.write((tx) => tx.run(sql`delete from feed`))
    await isLive(false)
    await register.write((tx) => tx.run(start))
    await isLive(true)
    reading.abort()
  }))
