import assert from 'node:assert/strict'
import type { Address } from '#base/address.ts'
import { sql } from '#db/sql.ts'
import { accountsMigrations } from '#main/stores.ts'
import { startPostgres } from '#test/postgres.ts'
import { eachEngine } from '#test/store/each-engine.ts'
import {
  pass,
  type SettlingHarness,
  settlingHarness,
  untilSent,
} from '#test/x402/settling-harness.ts'
import { newPayment } from '#test/x402/x402-harness.ts'
import type { Authorization } from './payload.ts'
import { failPayment, insertPayment } from './payment.ts'
import { finishPayments } from './settle-payment.ts'

const onBoth = eachEngine(startPostgres, accountsMigrations)

onBoth(
  'of two payments of one payer that somebody else sends in one transaction each is credited where it said',
  async ({ engine }) => {
    const { chain, authorize, paymentOf, finish, credits, states, audit } = settlingHarness(engine)
    const first = authorize(1)
    const second = { ...authorize(2), from: first.from }
    for (const each of [first, second])
      await engine.write((tx) => insertPayment(tx, paymentOf(each, `payment-${each.nonce}`)))
    chain.fund(first.from, 1_000_000n)
    const acts = [
      { kind: 'transfer', authorization: first },
      { kind: 'use', authorization: second },
      { kind: 'use', authorization: first },
    ] as const
    chain.mine(8, [acts])
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
    await finish()
    assert.deepEqual(await states(), ['open'])
    chain.lagBlocks = 0
    chain.mine(10)
    await finish()
    assert.deepEqual(await states(), ['credited'])
  },
)

onBoth(
  'a transaction that moved nothing and that a reorg replaces by one that does is credited',
  async ({ engine }) => {
    const harness = settlingHarness(engine, { confirmations: 20 })
    const { chain, authorize, states, credits, faults } = harness
    const authorization = authorize(1)
    faults.verifies = 'everything'
    await submit(harness, authorization)
    await pass(harness, 8, 8)
    assert.deepEqual(await states(), ['open'], 'no reverted one is final at once')
    chain.reorg(8)
    chain.fund(authorization.from, 1_000_000n)
    await pass(harness, 20)
    assert.deepEqual(await states(), ['credited'])
    assert.deepEqual(await credits(), ['bucket:192.0.2.1'])
  },
)

onBoth(
  'a payment whose transaction moved nothing, and that somebody else sends before its end, is credited without being asked for',
  async ({ engine }) => {
    const harness = settlingHarness(engine)
    const { chain, authorize, states, credits, audit, faults } = harness
    const authorization = authorize(1, 600)
    faults.verifies = 'everything'
    await submit(harness, authorization)
    await pass(harness, 20)
    assert.deepEqual(await states(), ['open'])
    chain.fund(authorization.from, 1_000_000n)
    chain.mine(1, [[{ kind: 'use', authorization }]])
    await pass(harness, MINUTES_10 + 100, 10)
    assert.deepEqual(await states(), ['credited'])
    assert.deepEqual(await credits(), ['bucket:192.0.2.1'])
    assert.deepEqual(await audit(), [])
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

const OTHER: Address = `0x${'9c'.repeat(20)}`

for (const change of [{ payTo: [{ address: OTHER, since: '2026-11-23' }] }, { asset: OTHER }])
  onBoth(
    `a payment sent before the file's ${Object.keys(change)[0]} was replaced is credited`,
    async ({ engine }) => {
      const harness = settlingHarness(engine)
      const { chain, ctx, authorize, settling } = harness
      const authorization = authorize(1, 3_600)
      chain.fund(authorization.from, 1_000_000n)
      const payment = harness.paymentOf(authorization, 'payment-1')
      await harness.submit(payment)
      const changed = { ...settling, payment: { ...settling.payment, ...change } }
      for (let n = 0; n < 10; n += 1) {
        chain.mine()
        await finishPayments(ctx, changed)
      }
      assert.deepEqual(await harness.credits(), ['bucket:192.0.2.1'])
      assert.deepEqual(await harness.states(), ['credited'])
      assert.deepEqual(harness.reports, [])
      assert.deepEqual(await harness.audit(), [])
    },
  )

onBoth('a sent payment whose nonce is spent elsewhere ends in a deep block', async ({ engine }) => {
  const harness = settlingHarness(engine)
  const { chain, authorize, paymentOf, submit, faults, states } = harness
  faults.sends = false
  const authorization = authorize(1)
  chain.fund(authorization.from, 1_000_000n)
  await submit(paymentOf(authorization, 'payment-1'))
  const toSelf = { ...authorization, to: authorization.from, value: 0n }
  chain.mine(1, [[{ kind: 'use', authorization: toSelf }]])
  assert.deepEqual(await states(), ['open'], 'a reorg may change it')
  await pass(harness, 20)
  assert.deepEqual(await states(), ['failed'])
})

onBoth(
  'a sent payment whose use no node shows is open, and is credited once it is shown',
  async ({ engine }) => {
    const harness = settlingHarness(engine)
    const { chain, authorize, paymentOf, submit, credits, states } = harness
    const authorization = authorize(1)
    chain.fund(authorization.from, 1_000_000n)
    const { receipt } = chain.rpc
    Object.assign(chain.rpc, { receipt: async () => undefined })
    chain.hidesLogs = true
    await submit(paymentOf(authorization, 'payment-1'))
    await pass(harness, 300, 10)
    assert.deepEqual(await states(), ['open'])
    Object.assign(chain.rpc, { receipt })
    chain.hidesLogs = false
    await pass(harness, 10)
    assert.deepEqual(await states(), ['credited'])
    assert.deepEqual(await credits(), ['bucket:192.0.2.1'])
  },
)

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
    assert.deepEqual(await states(), ['open'])
    assert.match(String(harness.reports[0]), /cannot be proven/)
    chain.provesNothing = false
    time.aheadSeconds += 60
    await finish()
    assert.deepEqual(await credits(), ['bucket:192.0.2.1'])
    assert.deepEqual(await harness.audit(), [])
  },
)

const DEEP = 60

onBoth(
  'a wallet that agrees to simulations only costs one transaction, however long it takes to be deep',
  async ({ engine }) => {
    const harness = settlingHarness(engine, { confirmations: DEEP })
    const { chain, authorize, paymentOf, submit, faults, states } = harness
    faults.verifies = 'everything'
    await submit(paymentOf(authorize(1, 3_500), 'payment-1'))
    await pass(harness, DEEP + 20)
    assert.equal(chain.sent.length, 1)
    assert.deepEqual(await states(), ['open'])
  },
)

onBoth(
  "the job does not repeat a transaction that is in the mempool or sealed, and repeats one that isn't",
  async ({ engine }) => {
    const { chain, authorize, paymentOf, submit, finish, time, faults } = settlingHarness(engine)
    faults.verifies = 'everything'
    const authorization = authorize(1)
    await submit(paymentOf(authorization, 'payment-1'))
    const again = async () => {
      time.aheadSeconds += 20
      await finish()
      return chain.sent.length
    }
    assert.equal(await again(), 1)
    chain.dropPool()
    assert.equal(await again(), 2)
    chain.mine()
    assert.equal(await again(), 2)
  },
)

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

onBoth('the store keeps every payment', async ({ engine }) => {
  await engine.write(async (tx) => {
    await insertPayment(tx, newPayment(1))
    await failPayment(tx, newPayment(1).id)
  })
  await assert.rejects(engine.write((tx) => tx.run(sql`delete from x402_intents`)))
})
