import assert from 'node:assert/strict'
import { accountsMigrations } from '#main/stores.ts'
import { startPostgres } from '#test/postgres.ts'
import { eachEngine } from '#test/store/each-engine.ts'
import { pass, settlingHarness, untilSent } from '#test/x402/settling-harness.ts'

const onBoth = eachEngine(startPostgres, accountsMigrations)

onBoth(
  'payers without money whose nonces are spent take no place of those that can be open',
  async ({ engine }) => {
    const harness = settlingHarness(engine)
    const { chain, authorize, request, settle, states } = harness
    const spent = Array.from({ length: 64 }, (_, n) => authorize(n + 1))
    const toSelf = spent.map((each) => ({ ...each, to: each.from, value: 0n }))
    chain.mine(
      1,
      toSelf.map((authorization) => [{ kind: 'use', authorization }]),
    )
    // A few at once, so that none gives up waiting on a busy machine.
    for (let n = 0; n < spent.length; n += 8) {
      const some = Promise.all(spent.slice(n, n + 8).map(request))
      for (const outcome of await harness.whileLeading(some))
        assert.deepEqual(outcome, { kind: 'rejected', reason: 'invalid_transaction_state' })
    }
    assert.deepEqual(new Set(await states()), new Set(['abandoned']))
    const honest = authorize(65)
    chain.fund(honest.from, 1_000_000n)
    const settling = settle(honest)
    await untilSent(harness, 1)
    chain.mine()
    assert.equal((await settling).kind, 'settled')
  },
)

onBoth(
  'a submitted payment whose nonce is spent elsewhere ends in a deep block',
  async ({ engine }) => {
    const harness = settlingHarness(engine)
    const { chain, authorize, paymentOf, submit, finish, faults, states } = harness
    faults.sends = false
    const authorization = authorize(1)
    chain.fund(authorization.from, 1_000_000n)
    await submit(paymentOf(authorization, 'payment-1'))
    const toSelf = { ...authorization, to: authorization.from, value: 0n }
    chain.mine(1, [[{ kind: 'use', authorization: toSelf }]])
    await finish()
    assert.deepEqual(await states(), ['submitted'], 'a reorg may change it')
    await pass(harness, 4)
    assert.deepEqual(await states(), ['failed'])
  },
)

onBoth(
  'a submitted payment whose use no node shows ends when it has expired, and is credited once it is shown',
  async ({ engine }) => {
    const harness = settlingHarness(engine)
    const { chain, authorize, paymentOf, submit, credits, states } = harness
    const authorization = authorize(1)
    chain.fund(authorization.from, 1_000_000n)
    const { receipt } = chain.rpc
    Object.assign(chain.rpc, { receipt: async () => undefined })
    chain.hidesLogs = true
    await submit(paymentOf(authorization, 'payment-1'))
    await pass(harness, 100, 10)
    assert.deepEqual(await states(), ['submitted'])
    await pass(harness, 100, 10)
    assert.deepEqual(await states(), ['failed'])
    Object.assign(chain.rpc, { receipt })
    chain.hidesLogs = false
    await pass(harness, 400, 10)
    assert.deepEqual(await states(), ['credited'])
    assert.deepEqual(await credits(), ['bucket:192.0.2.1'])
  },
)
