import assert from 'node:assert/strict'
import { accountsMigrations } from '#main/stores.ts'
import { startPostgres } from '#test/postgres.ts'
import { eachEngine } from '#test/store/each-engine.ts'
import {
  CONFIRMATIONS,
  pass,
  type SettlingHarness,
  settlingHarness,
} from '#test/x402/settling-harness.ts'
import type { Authorization } from '../schemes/scheme.ts'

const onBoth = eachEngine(startPostgres, accountsMigrations)

onBoth(
  'of two payments of one payer that somebody else sends in one transaction each is credited where it said',
  async ({ engine }) => {
    const { chain, authorize, settle, finish, credits, states, audit } = settlingHarness(engine)
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

/** Sends a payment for a request that is killed before it sees an outcome. */
function submit(harness: SettlingHarness, authorization: Authorization): Promise<void> {
  return harness.submit(harness.paymentOf(authorization, `payment-${BigInt(authorization.nonce)}`))
}

const MINUTES_10 = 300

onBoth(
  'a node that lags when the authorization ends does not end a payment that was made',
  async ({ engine }) => {
    const harness = settlingHarness(engine)
    const { chain, authorize, finish, states } = harness
    const authorization = authorize(1, 20)
    chain.fund(authorization.from, 1_000_000n)
    await submit(harness, authorization)
    chain.mine(100)
    chain.lagBlocks = 100
    for (let n = 0; n < 3; n += 1) await finish()
    assert.deepEqual(await states(), ['submitted'])
    chain.lagBlocks = 0
    await finish()
    assert.deepEqual(await states(), ['credited'])
  },
)

onBoth(
  'a transaction that moved nothing and that a reorg replaces by one that does is credited',
  async ({ engine }) => {
    const harness = settlingHarness(engine)
    const { chain, authorize, states, credits, faults } = harness
    const authorization = authorize(1)
    faults.verifies = 'everything'
    await submit(harness, authorization)
    await pass(harness, 1)
    assert.deepEqual(await states(), ['submitted'], 'no reverted one is final at once')
    chain.reorg(1)
    chain.fund(authorization.from, 1_000_000n)
    await pass(harness, 20)
    assert.deepEqual(await states(), ['credited'])
    assert.deepEqual(await credits(), ['bucket:192.0.2.1'])
  },
)

onBoth(
  'a payment that failed and that somebody else sends before its end is credited without being asked for',
  async ({ engine }) => {
    const harness = settlingHarness(engine)
    const { chain, authorize, states, credits, audit, faults } = harness
    const authorization = authorize(1, 600)
    faults.verifies = 'everything'
    await submit(harness, authorization)
    await pass(harness, CONFIRMATIONS + 3)
    assert.deepEqual(await states(), ['failed'])
    chain.fund(authorization.from, 1_000_000n)
    chain.mine(1, [[{ kind: 'use', authorization }]])
    await pass(harness, MINUTES_10 + 100, 10)
    assert.deepEqual(await states(), ['credited'])
    assert.deepEqual(await credits(), ['bucket:192.0.2.1'])
    assert.deepEqual(await audit(), [])
  },
)

onBoth(
  'a payment that was refused and that somebody else sends before its end is credited without being asked for',
  async ({ engine }) => {
    const harness = settlingHarness(engine)
    const { chain, authorize, settle, states, audit } = harness
    const authorization = authorize(1, 600)
    const outcome = await settle(authorization)
    assert.deepEqual(outcome, { kind: 'rejected', reason: 'insufficient_funds' })
    chain.fund(authorization.from, 1_000_000n)
    await pass(harness, 5)
    assert.deepEqual(await states(), ['abandoned'])
    chain.mine(1, [[{ kind: 'use', authorization }]])
    await pass(harness, MINUTES_10 + 100, 10)
    assert.deepEqual(await states(), ['credited'])
    assert.equal(chain.sent.length, 0)
    assert.deepEqual(await audit(), [])
  },
)

onBoth(
  'a payment that was refused and that nobody sends is looked at ever more seldom, and no more after its end',
  async ({ engine }) => {
    const harness = settlingHarness(engine)
    const { chain, authorize, settle, finish } = harness
    await settle(authorize(1, 600))
    const calls = chain.countCalls()
    await pass(harness, MINUTES_10 + 100)
    assert.ok(calls() > 5 && calls() < 50, `${calls()} calls`)
    const before = calls()
    await pass(harness, 200)
    await finish()
    assert.equal(calls(), before)
  },
)

onBoth(
  'a payment that somebody else sent long after it came is found by a node that takes small ranges',
  async ({ engine }) => {
    const harness = settlingHarness(engine)
    const { chain, authorize, states, faults } = harness
    const authorization = authorize(1, 3_600)
    chain.fund(authorization.from, 1_000_000n)
    chain.logBlocksMax = 500
    faults.sends = false
    await submit(harness, authorization)
    chain.mine(1_200)
    chain.mine(1, [[{ kind: 'use', authorization }]])
    await pass(harness, 2)
    assert.deepEqual(await states(), ['credited'])
  },
)
