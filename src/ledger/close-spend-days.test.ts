import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { DAY_SECONDS, startOfDay } from '#lib/time.ts'
import { openPostgres } from '#store/postgres/open-postgres.ts'
import { startPostgres } from '#test/postgres.ts'
import { chainInAccount, keyAccount, REVENUE } from './account.ts'
import { lockBalance, readBalances } from './balance.ts'
import { closeSpendDays } from './close-spend-days.ts'
import { ledgerMigrations } from './ledger-migrations.ts'
import { post } from './post.ts'
import { spendCalls } from './spend.ts'

const TODAY = startOfDay(1_795_000_000)
const ACCOUNTS = ['0a1b2c3d', '77777777', 'ffffffff'].map(keyAccount)

const postgres = await startPostgres()
after(() => postgres.stop())

test('PostgreSQL: days are closed while their balances are locked, and calls are paid meanwhile', async () => {
  const url = await postgres.createDatabase()
  const engine = openPostgres({ url, schema: 'accounts', lockTimeoutMs: 300 })
  const closer = openPostgres({ url, schema: 'accounts', lockTimeoutMs: 300 })
  const clock = () => (TODAY + DAY_SECONDS + 2 * 3_600) * 1000
  const pay = (account: string, day: number) =>
    engine.write((tx) =>
      spendCalls(tx, { calls: new Map([[account, 4]]), pricePerCall: 100n, day }),
    )
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
      assert.equal(await closeSpendDays({ engine: closer, clock }), 3)
      await pay(first, TODAY + DAY_SECONDS)
    })
    assert.equal(await earned(), 1_200n)
  } finally {
    await Promise.all([engine.close(), closer.close()])
  }
})
