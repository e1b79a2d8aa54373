import assert from 'node:assert/strict'
import { DAY_SECONDS } from '#lib/time.ts'
import { accountsMigrations } from '#main/stores.ts'
import { startPostgres } from '#test/postgres.ts'
import { eachEngine } from '#test/store/each-engine.ts'
import { CONFIRMATIONS, pass, settlingHarness, untilSent } from '#test/x402/settling-harness.ts'
import { finishPayments } from './finish-payments.ts'

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
      assert.equal((await settling).kind, 'settled')
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
      assert.deepEqual(await states(), ['submitted'])
      await pass(harness, 60, 10)
      assert.deepEqual(await states(), ['failed'])
      assert.deepEqual(await credits(), [])
    },
  )

onBoth(
  'a payment that a facilitator lost is settled by the next try, half a minute later, and credited once',
  async ({ engine }) => {
    const harness = settlingHarness(engine)
    const { chain, authorize, paymentOf, submit, faults, credits, audit } = harness
    Object.assign(faults, { says: 'nothing', sends: false })
    const authorization = authorize(1)
    chain.fund(authorization.from, 1_000_000n)
    await submit(paymentOf(authorization, 'payment-1'))
    Object.assign(faults, { says: 'the truth', sends: true })
    await pass(harness, 10)
    assert.equal(chain.sent.length, 0, 'the first may still arrive')
    await pass(harness, 20)
    assert.equal(chain.sent.length, 1)
    assert.deepEqual(await credits(), ['bucket:192.0.2.1'])
    assert.deepEqual(await audit(), [])
  },
)

onBoth(
  'a leader that stood by for long waits half a minute before it settles what the one before may have sent',
  async ({ engine }) => {
    const harness = settlingHarness(engine)
    const { chain, authorize, paymentOf, submit, faults } = harness
    const standby = settlingHarness(engine, { chain, ids: 'standby' })
    chain.mine(100)
    Object.assign(faults, { says: 'nothing', sends: false })
    const authorization = authorize(1)
    chain.fund(authorization.from, 1_000_000n)
    await submit(paymentOf(authorization, 'payment-1'))
    await pass(standby, 14)
    assert.equal(chain.sent.length, 0)
    await pass(standby, 6)
    assert.equal(chain.sent.length, 1)
  },
)

onBoth(
  'a facilitator that cannot verify moves nothing: the payment is refused, and its payer may sign another',
  async ({ engine }) => {
    const { chain, authorize, settle, faults, states } = settlingHarness(engine)
    faults.verifies = 'with an error'
    const first = authorize(1)
    chain.fund(first.from, 1_000_000n)
    assert.deepEqual(await settle(first), { kind: 'rejected', reason: 'settlement_unavailable' })
    assert.equal(chain.sent.length, 0)
    faults.verifies = 'rightly'
    const settling = settle({ ...authorize(2), from: first.from })
    await untilSent({ chain }, 1)
    chain.mine()
    assert.equal((await settling).kind, 'settled')
    assert.deepEqual(await states(), ['abandoned', 'credited'])
  },
)

onBoth(
  'whose settlement reverted at our cost waits a day; other payers do not',
  async ({ engine }) => {
    const harness = settlingHarness(engine)
    const { chain, authorize, paymentOf, submit, request, faults, states, time } = harness
    faults.verifies = 'everything'
    const first = authorize(1)
    await submit(paymentOf(first, 'payment-1'))
    await pass(harness, CONFIRMATIONS + 3)
    assert.deepEqual(await states(), ['failed'])
    const next = { ...authorize(2), from: first.from }
    assert.deepEqual(await request(next), { kind: 'rejected', reason: 'payer_waits' })
    assert.equal((await request(authorize(3))).kind, 'rejected', 'no leader takes it')
    assert.deepEqual(await states(), ['abandoned', 'failed'])
    time.aheadSeconds = DAY_SECONDS + 1
    assert.deepEqual(await request({ ...authorize(4), from: first.from }), {
      kind: 'rejected',
      reason: 'settlement_unavailable',
    })
    assert.equal(chain.sent.length, 1)
  },
)

onBoth(
  "a transaction of somebody else's facilitator that moved nothing ends no payment: it may send one more",
  async ({ engine }) => {
    const harness = settlingHarness(engine)
    const { chain, authorize, paymentOf, submit, faults, states, leading } = harness
    faults.verifies = 'everything'
    await submit(paymentOf(authorize(1), 'payment-1'))
    const facilitator = { wallet: undefined }
    for (let n = 0; n < 20; n += 1) {
      chain.mine()
      await finishPayments({ ...leading, facilitator })
    }
    assert.deepEqual(await states(), ['submitted'])
  },
)
