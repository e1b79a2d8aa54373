import assert from 'node:assert/strict'
import { isRefusal } from '#domain/refusal.ts'
import { sleep } from '#lib/async.ts'
import { accountsMigrations } from '#main/stores.ts'
import { type Engine, StoreError } from '#store/engine.ts'
import { startPostgres } from '#test/postgres.ts'
import { eachEngine } from '#test/store/each-engine.ts'
import { inputOf, payer, settlingHarness, untilSent } from '#test/x402/settling-harness.ts'
import { word } from '#test/x402/x402-harness.ts'
import { toBase64 } from '../offers/offer.ts'
import { PaymentReceiver } from '../payment-receiver.ts'
import { exact } from '../schemes/exact/exact.ts'
import { insertPayment } from './payment-store.ts'
import { joinPayment } from './settle-payment.ts'

const onBoth = eachEngine(startPostgres, accountsMigrations)
const PENDING = { kind: 'pending', transaction: null } as const

onBoth(
  'a payment that is used, but not shown by what, is pending and never refused; it is credited once it is shown',
  async ({ engine }) => {
    const harness = settlingHarness(engine)
    const { chain, authorize, settle, finish, states, credits } = harness
    const authorization = authorize(1)
    chain.fund(authorization.from, 1_000_000n)
    chain.mine(1, [[{ kind: 'use', authorization }]])
    chain.hidesLogs = true
    assert.deepEqual(await settle(authorization), PENDING)
    await finish()
    assert.deepEqual(await states(), ['abandoned'])
    chain.hidesLogs = false
    chain.mine(6)
    await finish()
    assert.deepEqual(await states(), ['credited'])
    assert.deepEqual(await credits(), ['bucket:192.0.2.1'])
    assert.equal(chain.sent.length, 0)
  },
)

onBoth(
  'a payment that does not verify while the node is lost is refused, and nothing is sent',
  async ({ engine }) => {
    const { chain, authorize, settle, faults, states } = settlingHarness(engine)
    faults.verifies = 'nothing'
    const { header } = chain.rpc
    Object.assign(chain.rpc, {
      header: (at: Parameters<typeof header>[0]) => {
        const answer = header(at)
        chain.isDown = true
        return answer
      },
    })
    const outcome = await settle(authorize(1))
    assert.deepEqual(outcome, { kind: 'rejected', reason: 'settlement_unavailable' })
    assert.deepEqual(await states(), ['abandoned'])
    assert.equal(chain.sent.length, 0)
  },
)

onBoth(
  'a refusal that the chain does not explain is asked about once more: a node may lag, a block may have come',
  async ({ engine }) => {
    const harness = settlingHarness(engine)
    const { chain, authorize, settle, faults } = harness
    faults.verifies = 'nothing'
    const authorization = authorize(1)
    chain.fund(authorization.from, 1_000_000n)
    const settling = settle(authorization)
    setTimeout(() => {
      faults.verifies = 'rightly'
    }, 500)
    await untilSent(harness, 1)
    chain.mine()
    assert.equal((await settling).kind, 'settled')
  },
)

onBoth(
  'a payment that the store could not give up at once is given up by the next try',
  async ({ engine }) => {
    let writes = 0
    const failing: Engine = {
      ...engine,
      write: (work) => {
        writes += 1
        // The first notes the payment, the second gives it up.
        if (writes === 2) return Promise.reject(new StoreError('the disk is full'))
        return engine.write(work)
      },
    }
    const { authorize, settle, states } = settlingHarness(failing)
    const outcome = await settle(authorize(1))
    assert.deepEqual(outcome, { kind: 'rejected', reason: 'insufficient_funds' })
    assert.deepEqual(await states(), ['abandoned'])
  },
)

onBoth(
  'a payment that no leader takes in time is given up by its request, and never sent',
  async ({ engine }) => {
    const { chain, authorize, request, states, whileLeading } = settlingHarness(engine)
    const authorization = authorize(1)
    chain.fund(authorization.from, 1_000_000n)
    const outcome = await request(authorization)
    assert.deepEqual(outcome, { kind: 'rejected', reason: 'settlement_unavailable' })
    await whileLeading(new Promise((resolve) => setTimeout(resolve, 50)))
    assert.deepEqual(await states(), ['abandoned'])
    assert.equal(chain.sent.length, 0)
  },
)

onBoth(
  'a leader whose clock is ahead settles what others have just reserved',
  async ({ engine }) => {
    const harness = settlingHarness(engine)
    const { chain, authorize, deps, request, whileLeading, time } = harness
    const authorization = authorize(1)
    chain.fund(authorization.from, 1_000_000n)
    const { clock } = deps
    Object.assign(harness.settling, { clock: () => clock() - time.aheadSeconds * 1_000 })
    time.aheadSeconds = 13
    const settling = whileLeading(request(authorization))
    await untilSent(harness, 1)
    chain.mine()
    assert.equal((await settling).kind, 'settled')
  },
)

onBoth(
  'one balance backs one payment at a time: the next is pending, untouched, and settles when it comes again',
  async (store) => {
    const harness = settlingHarness(store.engine)
    const replica = settlingHarness(store.replica(), { chain: harness.chain, ids: 'replica' })
    const { chain, authorize, states } = harness
    const first = authorize(1)
    const later = [2, 3, 4].map((n) => ({ ...authorize(n), from: first.from }))
    chain.fund(first.from, 1_000_000n)
    const leading = harness.settle(first)
    await untilSent(harness, 1)
    for (const authorization of later)
      assert.deepEqual(await replica.request(authorization), PENDING)
    assert.equal(chain.sent.length, 1)
    chain.mine()
    assert.equal((await leading).kind, 'settled')
    assert.deepEqual(await states(), ['credited'])
    for (const [n, authorization] of later.entries()) {
      const settling = harness.whileLeading(replica.request(authorization))
      await untilSent(harness, n + 2)
      chain.mine()
      assert.equal((await settling).kind, 'settled')
    }
  },
)

onBoth('of many payments of one payer at the same moment one is sent', async (store) => {
  const harness = settlingHarness(store.engine)
  const replica = settlingHarness(store.replica(), { chain: harness.chain, ids: 'replica' })
  const { chain, authorize } = harness
  const from = payer(1)
  chain.fund(from, 100_000n)
  let answered = 0
  const asked = Array.from({ length: 10 }, async (_, n) => {
    const { request } = n % 2 === 0 ? harness : replica
    const outcome = await request({ ...authorize(n + 1), from })
    answered += 1
    return outcome
  })
  const leading = harness.whileLeading(Promise.all(asked))
  await untilSent(harness, 1)
  while (answered < 9) await sleep(5)
  chain.mine()
  const kinds = (await leading).map(({ kind }) => kind).sort()
  assert.deepEqual(kinds, [...Array(9).fill('pending'), 'settled'])
  assert.equal(chain.sent.length, 1)
})

onBoth('no more payments are open than nodes hold of one wallet', async ({ engine }) => {
  const { chain, authorize, paymentOf, request, states } = settlingHarness(engine)
  for (let n = 1; n <= 64; n += 1)
    await engine.write((tx) => insertPayment(tx, paymentOf(authorize(n), `payment-${word(n)}`)))
  chain.fund(payer(65), 1_000_000n)
  assert.deepEqual(await request(authorize(65)), PENDING)
  assert.equal((await states()).length, 64)
})

onBoth(
  'a payment shown twice at once is sent once and serves one request; for another balance it is used',
  async ({ engine }) => {
    const harness = settlingHarness(engine)
    const { chain, authorize, settle, settling, credits } = harness
    const authorization = authorize(1)
    chain.fund(authorization.from, 1_000_000n)
    const leading = settle(authorization)
    await untilSent(harness, 1)
    const joining = joinPayment(settling, inputOf(authorization))
    const other = { ...inputOf(authorization), payee: inputOf(authorize(2)).payee }
    assert.deepEqual(await joinPayment(settling, other), { kind: 'used' })
    chain.mine()
    assert.equal((await leading).kind, 'settled')
    assert.deepEqual(await joining, { kind: 'used' })
    assert.equal(chain.sent.length, 1)
    assert.deepEqual(await credits(), ['bucket:192.0.2.1'])
  },
)

onBoth(
  'a payment whose request ended before it was settled serves one request that shows it again',
  async ({ engine }) => {
    const harness = settlingHarness(engine)
    const { chain, authorize, paymentOf, submit, finish, settling, audit } = harness
    const authorization = authorize(1)
    chain.fund(authorization.from, 1_000_000n)
    await submit(paymentOf(authorization, 'payment-1'))
    chain.mine(7)
    await finish()
    const again = () => joinPayment(settling, inputOf(authorization))
    const credited = { kind: 'credited', transaction: chain.sent[0], id: 'payment-1' }
    const input = inputOf(authorization)
    const forged = { ...input, payload: { ...input.payload, signature: '0x00' as const } }
    assert.deepEqual(await joinPayment(settling, forged), { kind: 'used' })
    const receiver = new PaymentReceiver(settling)
    const { accepted, network, scheme } = input.payload
    const payload = exact.write(input.payload)
    const header = { x402Version: 2, accepted: { ...accepted, network, scheme }, payload }
    const headers = { 'payment-signature': toBase64(header) }
    assert.equal(await receiver.rejectUsedPayment({ headers }), 'credited')
    const outcome = await again()
    assert.deepEqual(outcome, credited, 'looking at it takes nothing')
    assert.ok(outcome.kind === 'credited')
    const taken = [await receiver.takeServed(outcome), await receiver.takeServed(outcome)]
    assert.deepEqual(
      taken.map((each) => each?.kind),
      [undefined, 'refusal'],
    )
    assert.deepEqual(await again(), { kind: 'used' })
    assert.ok(isRefusal(await receiver.rejectUsedPayment({ headers })))
    assert.deepEqual(await audit(), [])
  },
)
