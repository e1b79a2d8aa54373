import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { DAY_SECONDS, startOfDay } from '#lib/day.ts'
import { sleep } from '#lib/sleep.ts'
import type { Engine } from '#store/engine.ts'
import { openPostgres } from '#store/postgres/open-postgres.ts'
import { sql } from '#store/sql.ts'
import { startPostgres } from '#test/postgres.ts'
import { chainInAccount, keyAccount, REVENUE } from './account.ts'
import { lockBalance, readBalances } from './balance.ts'
import { closeSpendDays } from './close-spend-days.ts'
import { ledgerMigrations } from './ledger-migrations.ts'
import { post } from './post.ts'
import { payCalls } from './spend.ts'

const TODAY = startOfDay(1_795_000_000)
const ACCOUNTS = ['0a1b2c3d', '77777777', 'ffffffff'].map(keyAccount)

const postgres = await startPostgres()
after(() => postgres.stop())

async function isWaitedFor(engine: Engine): Promise<boolean> {
  const waiting = await engine.read(sql`
    select 1 from pg_stat_activity
    where datname = current_database() and wait_event_type = 'Lock'`)
  return waiting.length > 0
}

test('PostgreSQL: a balance that is stuck holds up the closing of no other, and no call', async () => {
  const url = await postgres.createDatabase()
  const engine = openPostgres({ url, schema: 'accounts', lockTimeoutMs: 300 })
  const closer = openPostgres({ url, schema: 'accounts', lockTimeoutMs: 1_000 })
  const clock = () => (TODAY + DAY_SECONDS + 2 * 3_600) * 1000
  const pay = (account: string, day: number) =>
    engine.write((tx) => payCalls(tx, { calls: new Map([[account, 4]]), pricePerCall: 100n, day }))
  const earned = async () =>
    (await engine.snapshot((reads) => readBalances(reads, [REVENUE]))).get(REVENUE)
  try {
    await engine.migrate(ledgerMigrations)
    for (const account of ACCOUNTS) {
      const given = { account, microUsd: 1_000n }
      const postings = [{ account: chainInAccount(1), microUsd: -1_000n }, given]
      const entry = { id: account, kind: 'credit' as const, reference: account, createdUnix: TODAY }
      await engine.write((tx) => post(tx, { ...entry, postings }))
      await pay(account, TODAY)
    }
    const [first = '', stuck = ''] = ACCOUNTS
    await engine.write(async (holder) => {
      await lockBalance(holder, stuck)
      const closing = assert.rejects(closeSpendDays({ engine: closer, clock }), AggregateError)
      while (!(await isWaitedFor(engine))) await sleep(5)
      await pay(first, TODAY + DAY_SECONDS)
      await closing
    })
    assert.equal(await earned(), 800n)
    assert.equal(await closeSpendDays({ engine: closer, clock }), 1)
    assert.equal(await earned(), 1_200n)
  } finally {
    await Promise.all([engine.close(), closer.close()])
  }
})
