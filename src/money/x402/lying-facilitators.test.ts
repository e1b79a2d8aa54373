import assert from 'node:assert/strict'
import { DAY_SECONDS } from '#lib/time.ts'
import { accountsMigrations } from '#main/stores.ts'
import { startPostgres } from '#test/postgres.ts'
import { eachEngine } from '#test/store/each-engine.ts'
import { pass, settlingHarness, untilSent } from '#test/x402/settling-harness.ts'
import { finishPayments } from './settle-payment.ts'

const onBoth = eachEngine(startPostgres, accountsMigrations)

for (const says of ['failed', 'nothing', 'settled'] as const)
  onBoth(
    `a payment that is sent is credited once, though the facilitator says ${says}`,
    async ({ engine }) => {
      const harness = settlingHarness(engine)
      const { chain, authorize, settle, faults, credits, states, audit } = harness
      faults.says = says
      const authorization = authorize(1)
      chain.fund(authorization.from, 1_000_000n)
      const settling = settle(authorization)
      await untilSent(harness, 1)
      chain.mine()
      assert.equal((await settling).kind, 'posted')
      await pass(harness, 40)
      assert.equal(chain.sent.length, 1)
      assert.deepEqual(await credits(), ['bucket:192.0.2.1'])
      assert.deepEqual(await states(), ['credited'])
      assert.deepEqual(await audit(), [])
    },
  )

for (const says of ['failed', 'nothing', 'settled'] as const)
  onBoth(
    `a payment that is not sent is pending until it has expired, though the facilitator says ${says}`,
    async ({ engine }) => {
      const harness = settlingHarness(engine)
      const { chain, authorize, paymentOf, submit, faults, credits, states } = harness
      Object.assign(faults, { says, sends: false })
      const authorization = authorize(1)
      chain.fund(authorization.from, 1_000_000n)
      await submit(paymentOf(authorization, 'payment-1'))
      await pass(harness, 140, 10)
      assert.deepEqual(await states(), ['open'])
      await pass(harness, 60, 10)
      assert.deepEqual(await states(), ['failed'])
      assert.deepEqual(await credits(), [])
    },
  )

onBoth(
  'a payment that a facilitator lost is sent again by the job, and credited once',
  async ({ engine }) => {
    const harness = settlingHarness(engine)
    const { chain, authorize, paymentOf, submit, faults, credits, audit } = harness
    Object.assign(faults, { says: 'nothing', sends: false })
    const authorization = authorize(1)
    chain.fund(authorization.from, 1_000_000n)
    await submit(paymentOf(authorization, 'payment-1'))
    Object.assign(faults, { says: 'the truth', sends: true })
    await pass(harness, 7)
    assert.equal(chain.sent.length, 0, 'its request may still wait')
    await pass(harness, 20)
    assert.equal(chain.sent.length, 1)
    assert.deepEqual(await credits(), ['bucket:192.0.2.1'])
    assert.deepEqual(await audit(), [])
  },
)

onBoth(
  'whose settlement reverted at our cost waits a day; other payers do not',
  async ({ engine }) => {
    const harness = settlingHarness(engine)
    const { chain, authorize, paymentOf, submit, settle, faults, states } = harness
    faults.verifies = 'everything'
    const first = authorize(1)
    await submit(paymentOf(first, 'payment-1'))
    await pass(harness, 20)
    assert.deepEqual(await states(), ['failed'])
    faults.verifies = 'rightly'
    const next = () => ({ ...authorize(2), from: first.from })
    assert.deepEqual(await settle(next()), { kind: 'rejected', reason: 'payer_waits' })
    const poor = { kind: 'rejected', reason: 'insufficient_funds' }
    assert.deepEqual(await settle(authorize(3)), poor)
    chain.mine(DAY_SECONDS / 2 + 1)
    assert.deepEqual(await settle(next()), poor)
    assert.equal(chain.sent.length, 1)
  },
)

onBoth(
  "a transaction of somebody else's facilitator that moved nothing ends no payment: it may send one more",
  async ({ engine }) => {
    const harness = settlingHarness(engine)
    const { chain, ctx, authorize, paymentOf, submit, faults, states, settling } = harness
    faults.verifies = 'everything'
    await submit(paymentOf(authorize(1), 'payment-1'))
    for (let n = 0; n < 20; n += 1) {
      chain.mine()
      await finishPayments(ctx, { ...settling, wallet: undefined })
    }
    assert.deepEqual(await states(), ['open'])
  },
)
