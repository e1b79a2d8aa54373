import assert from 'node:assert/strict'
import { accountsMigrations } from '#main/stores.ts'
import { startPostgres } from '#test/postgres.ts'
import { eachEngine } from '#test/store/each-engine.ts'
import { CONFIRMATIONS, pass, settlingHarness } from '#test/x402/settling-harness.ts'
import { PaymentSender } from './send-payments.ts'

const onBoth = eachEngine(startPostgres, accountsMigrations)
const DEEP = 60

onBoth(
  'a wallet that agrees to simulations only costs one transaction, however long it takes to be deep',
  async ({ engine }) => {
    const harness = settlingHarness(engine, { confirmations: DEEP })
    const { chain, authorize, paymentOf, submit, faults, states } = harness
    faults.verifies = 'everything'
    await submit(paymentOf(authorize(1, 3_500), 'payment-1'))
    await pass(harness, DEEP + 2)
    assert.equal(chain.sent.length, 1)
    assert.deepEqual(await states(), ['failed'])
  },
)

onBoth('our sealed transaction is not followed by another one', async ({ engine }) => {
  const harness = settlingHarness(engine)
  const { chain, authorize, paymentOf, submit, faults, leading, open, time } = harness
  faults.verifies = 'everything'
  await submit(paymentOf(authorize(1), 'payment-1'))
  const [pending] = await open()
  assert.ok(pending)
  chain.mine()
  time.aheadSeconds = 60
  leading.sender.again(pending)
  await leading.sender.end()
  assert.equal(chain.sent.length, 1)
  assert.equal((await open())[0]?.txHash, chain.sent[0])
})

onBoth(
  "a new leader does not repeat a transaction that is in the mempool, and repeats one that isn't",
  async ({ engine }) => {
    const { chain, authorize, paymentOf, submit, leading, open, time } = settlingHarness(engine)
    const authorization = authorize(1)
    chain.fund(authorization.from, 1_000_000n)
    await submit(paymentOf(authorization, 'payment-1'))
    const next = new PaymentSender(leading)
    const again = async (aheadSeconds: number) => {
      time.aheadSeconds = aheadSeconds
      for (const payment of await open()) next.again(payment)
      await next.end()
      return chain.sent.length
    }
    assert.equal(await again(0), 1)
    assert.equal(await again(40), 1)
    chain.dropPool()
    assert.equal(await again(80), 2)
  },
)

for (const kind of ['cancel', 'use'] as const)
  onBoth(
    `a payer waits a day if it had our transaction revert by a ${kind} of its nonce`,
    async ({ engine }) => {
      const harness = settlingHarness(engine)
      const { chain, authorize, paymentOf, submit, request, states } = harness
      const authorization = authorize(1)
      chain.fund(authorization.from, 1_000_000n)
      await submit(paymentOf(authorization, 'payment-1'))
      const toSelf = { ...authorization, to: authorization.from }
      chain.mine(1, [[{ kind, authorization: toSelf }]])
      await pass(harness, CONFIRMATIONS + 3)
      assert.deepEqual(await states(), ['failed'])
      const next = { ...authorize(2), from: authorization.from }
      assert.deepEqual(await request(next), { kind: 'rejected', reason: 'payer_waits' })
    },
  )
