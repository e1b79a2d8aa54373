import assert from 'node:assert/strict'
import { accessMigrations } from '#access/access-migrations.ts'
import { eachEngine } from '#ledger/each-engine.ts'
import { ledgerMigrations } from '#ledger/ledger-migrations.ts'
import { paymentsMigrations } from '#payments/payments-migrations.ts'
import { startPostgres } from '#test/postgres.ts'
import { settlingWorld } from '../settling-world.ts'
import { x402Migrations } from '../x402-migrations.ts'

const onBoth = eachEngine(startPostgres, [
  ...ledgerMigrations,
  ...accessMigrations,
  ...paymentsMigrations,
  ...x402Migrations,
])

onBoth(
  'of two payments of one payer that somebody else sends in one transaction each is credited where it said',
  async ({ engine }) => {
    const { chain, authorize, settle, finish, credits, states, audit } = settlingWorld(engine)
    const first = authorize(1)
    const second = { ...authorize(2), from: first.from }
    chain.fund(first.from, 1_000_000n)
    const acts = [
      { kind: 'transfer', authorization: first },
      { kind: 'use', authorization: second },
      { kind: 'use', authorization: first },
    ] as const
    chain.mine(1, [acts])
    assert.equal((await settle(first)).kind, 'settled')
    assert.equal((await settle(second)).kind, 'settled')
    await finish()
    assert.deepEqual(await credits(), ['bucket:192.0.2.1', 'bucket:192.0.2.2'])
    assert.deepEqual(await states(), ['credited', 'credited'])
    assert.deepEqual(await audit(), [])
  },
)
