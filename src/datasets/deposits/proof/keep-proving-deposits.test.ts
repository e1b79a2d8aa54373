import assert from 'node:assert/strict'
import { test } from 'node:test'
import { registerMigrations } from '#datasets/datasets.ts'
import { onSqlite } from '#ledger/each-engine.ts'
import { localEcosystemAt } from '#test/indexed-ecosystem.ts'
import { keepProvingDeposits } from './keep-proving-deposits.ts'

test('ending the process during a proof is not a failure', () =>
  onSqlite(registerMigrations, async ({ engine }) => {
    const { payment } = localEcosystemAt({})
    assert.ok(payment !== null)
    const stop = new AbortController()
    let looks = 0
    const register = {
      ...engine,
      async snapshot(): Promise<never> {
        looks += 1
        stop.abort()
        return stop.signal.throwIfAborted() as never
      },
    }
    await keepProvingDeposits(
      {
        ...{ register, payment, clock: Date.now, isIndexing: () => true },
        ...{ isOurs: async () => true, report: () => undefined },
        sourceOf: () => assert.fail('a node was asked'),
      },
      stop.signal,
    )
    assert.ok(looks > 0)
  }))
