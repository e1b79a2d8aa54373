import assert from 'node:assert/strict'
import { accountsMigrations } from '#main/stores.ts'
import { startPostgres } from '#test/postgres.ts'
import { eachEngine } from '#test/store/each-engine.ts'
import { settlingHarness } from '#test/x402/settling-harness.ts'

const onBoth = eachEngine(startPostgres, accountsMigrations)

onBoth(
  'a settlement is credited once its block is proven, however long that takes, never before',
  async ({ engine }) => {
    const harness = settlingHarness(engine)
    const { chain, authorize, credits, states, finish, time } = harness
    const authorization = authorize(1)
    chain.fund(authorization.from, 1_000_000n)
    chain.provesNothing = true
    const payment = harness.paymentOf(authorization, 'payment-1')
    await harness.submit(payment)
    for (let n = 0; n < 200; n += 1) chain.mine()
    time.aheadSeconds = 3 * 86_400
    for (let n = 0; n < 3; n += 1) await finish()
    assert.deepEqual(await credits(), [])
    assert.deepEqual(await states(), ['submitted'])
    assert.match(String(harness.reports[0]), /cannot be proven/)
    chain.provesNothing = false
    await finish()
    assert.deepEqual(await credits(), ['bucket:192.0.2.1'])
    assert.deepEqual(await harness.audit(), [])
  },
)
