import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { startPostgres, type TestPostgres } from '#test/postgres.ts'
import { moveUnderTraffic } from './move-under-traffic.ts'

let postgres: TestPostgres
before(async () => {
  postgres = await startPostgres()
})
after(() => postgres.stop())

test('callers of an installation that moves get right answers or 503, and each 200 is counted once', async () => {
  const { traffic, audits, miscounted, moved } = await moveUnderTraffic({
    databaseUrl: await postgres.createDatabase(),
    seeded: { keys: 20, freeDays: 3, paidDays: 2 },
    logs: 1_000,
    connections: 8,
    pauseMs: 10,
    calmMs: 300,
    note: () => undefined,
  })
  assert.deepEqual(traffic.wrong, [])
  assert.deepEqual(miscounted, [])
  assert.deepEqual(audits, [0, 0])
  assert.equal(traffic.answered.size, 20)
  assert.ok(traffic.unavailable > 0, 'calls came while the accounts were frozen')
  assert.ok(moved.changedRows > 0, 'calls came while the accounts were copied')
})
