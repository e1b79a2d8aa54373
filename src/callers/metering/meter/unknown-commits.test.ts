import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { type Engine, StoreError } from '#store/engine.ts'
import { MIGRATIONS, NOON, PRICE } from '#test/callers/meter-harness.ts'
import { onSqlite } from '#test/store/each-engine.ts'
import { UnknownCommits } from './unknown-commits.ts'

test('however many commits are unknown, a store that stays away is asked and reported once a second', async (context) => {
  context.mock.timers.enable({ apis: ['setTimeout'] })
  await onSqlite(MIGRATIONS, async ({ engine }) => {
    const away: Engine = { ...engine, write: () => Promise.reject(new StoreError('away')) }
    const reports: unknown[] = []
    const commits = new UnknownCommits({
      ...{ engine: away, clock: () => NOON * 1_000, pricePerCall: PRICE },
      report: (error) => reports.push(error),
    })
    const charge = { id: '1', bucket: 'a', day: 0, source: 'quota', account: null } as const
    for (let number = 1; number <= 50; number += 1)
      commits.add({
        ...{ id: { meter: 'one', number }, day: 0, stands: false },
        charges: [{ ...charge, countedKey: null }],
      })
    for (let second = 1; second <= 3; second += 1) {
      context.mock.timers.tick(1_000)
      for (let turn = 0; turn < 5; turn += 1) await setImmediate()
      assert.equal(reports.length, second)
    }
  })
})
