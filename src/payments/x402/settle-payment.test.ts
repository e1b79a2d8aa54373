import assert from 'node:assert/strict'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { ledgerChecks } from '#accounts/ledger/check.ts'
import { callerChecks } from '#accounts/metering/caller-checks.ts'
import { getMeter } from '#accounts/metering/meter/meter.ts'
import type { Caller } from '#base/caller.ts'
import { type Engine, StoreError } from '#db/engine.ts'
import { accountsMigrations } from '#main/stores.ts'
import { startPostgres } from '#test/postgres.ts'
import { eachEngine } from '#test/store/each-engine.ts'
import { testContext } from '#test/test-context.ts'
import { askedOf, settlingHarness, untilSent } from '#test/x402/settling-harness.ts'
import { ACCEPTED, CALLER, SIGNATURE } from '#test/x402/x402-harness.ts'
import { toBase64 } from './offer.ts'
import { openPaymentOfCaller, payWith } from './pay.ts'
import { type Authorization, writeSigned } from './payload.ts'
import { type Payee, reservePayment } from './payment.ts'

const onBoth = eachEngine(startPostgres, accountsMigrations)
const PENDING = { kind: 'settlement_pending', transaction: null } as const
const USED = { kind: 'payment_already_used' } as const

onBoth(
  'a payment that somebody sent without us credits nobody who shows it: anyone can read it from the chain',
  async ({ engine }) => {
    const { chain, authorize, settle, states, credits } = settlingHarness(engine)
    const authorization = authorize(1)
    chain.fund(authorization.from, 1_000_000n)
    chain.mine(1, [[{ kind: 'use', authorization }]])
    assert.deepEqual(await settle(authorization), USED)
    assert.deepEqual([await states(), await credits()], [[], []])
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
    assert.deepEqual(await states(), [])
    assert.equal(chain.sent.length, 0)
  },
)

onBoth(
  'one payer has one payment open at a time: the next is pending, untouched, and settles when it comes again',
  async (store) => {
    const harness = settlingHarness(store.engine)
    const replica = settlingHarness(store.replica(), { chain: harness.chain })
    const { chain, authorize, states } = harness
    const first = authorize(1)
    const later = [2, 3].map((n) => ({ ...authorize(n), from: first.from }))
    chain.fund(first.from, 1_000_000n)
    const leading = harness.settle(first)
    await untilSent(harness, 1)
    for (const authorization of later)
      assert.deepEqual(await replica.settle(authorization), PENDING)
    assert.equal(chain.sent.length, 1)
    chain.mine()
    assert.equal((await leading).kind, 'posted')
    assert.deepEqual(await states(), ['credited'])
    for (const [n, authorization] of later.entries()) {
      const settling = replica.settle(authorization)
      await untilSent(harness, n + 2)
      chain.mine()
      assert.equal((await settling).kind, 'posted')
    }
  },
)

onBoth(
  'a payment shown twice at once is sent once: the same process joins it, another one says that it is pending',
  async (store) => {
    const harness = settlingHarness(store.engine)
    const replica = settlingHarness(store.replica(), { chain: harness.chain })
    const { chain, authorize, settle, settleAs, credits } = harness
    const authorization = authorize(1)
    chain.fund(authorization.from, 1_000_000n)
    const leading = settle(authorization)
    await untilSent(harness, 1)
    const joining = settle(authorization)
    assert.equal((await replica.settle(authorization)).kind, 'settlement_pending')
    const other = { ...askedOf(authorization), payee: askedOf(authorize(2)).payee }
    assert.deepEqual(await settleAs(other), USED)
    chain.mine()
    assert.equal((await leading).kind, 'posted')
    assert.deepEqual(await joining, USED)
    assert.equal(chain.sent.length, 1)
    assert.deepEqual(await credits(), ['bucket:192.0.2.1'])
  },
)

onBoth(
  'a payment whose request ended before it was settled serves one request that shows it again',
  async ({ engine }) => {
    const harness = settlingHarness(engine)
    const { chain, authorize, paymentOf, submit, finish, settle, settleAs, audit } = harness
    const authorization = authorize(1)
    chain.fund(authorization.from, 1_000_000n)
    await submit(paymentOf(authorization, 'payment-1'))
    chain.mine(8)
    await finish()
    const asked = askedOf(authorization)
    const forged = { ...asked, payload: { ...asked.payload, signature: '0x00' as const } }
    assert.deepEqual(await settleAs(forged), USED)
    assert.deepEqual(await settle(authorization), { kind: 'posted', transaction: chain.sent[0] })
    assert.deepEqual(await settle(authorization), USED)
    assert.deepEqual(await audit(), [])
  },
)

const KEY = { kind: 'key', name: 'aaaaaaaa', wallet: `0x${'11'.repeat(20)}` } as const
const HOLDER: Caller = {
  kind: 'keyed',
  publicId: KEY.name,
  wallet: KEY.wallet,
  identity: 'key:s_aaaaaaaa',
  bucket: `wallet:${KEY.wallet}`,
  tier: 'free',
  dailyQuota: 1,
}

onBoth(
  "a stranger's payment for a key holds up neither the calls nor the payments of its holder",
  async ({ engine }) => {
    const { authorize, paymentOf, ctx } = settlingHarness(engine)
    const reserve = (n: number, payee: Payee) =>
      engine.write((tx) =>
        reservePayment(tx, { ...paymentOf(authorize(n), `payment-${n}`), payee }),
      )
    assert.equal(await reserve(1, { ...KEY, isOwn: false }), 'reserved')
    assert.equal(await openPaymentOfCaller(ctx, HOLDER), undefined)
    assert.equal(await reserve(2, { ...KEY, isOwn: true }), 'reserved')
    assert.equal((await openPaymentOfCaller(ctx, HOLDER))?.id, 'payment-2')
    assert.equal(await reserve(3, { ...KEY, isOwn: true }), 'busy')
    assert.equal(await reserve(4, { ...KEY, isOwn: false }), 'reserved')
  },
)

function callWith(authorization: Authorization, isCut = false) {
  const payload = writeSigned({ authorization, signature: SIGNATURE })
  return {
    headers: {
      'payment-signature': toBase64({ x402Version: 2, accepted: ACCEPTED, payload }),
    },
    ...{ addressBucket: CALLER.bucket, target: '/api/stats', isCut: () => isCut },
  }
}

/** A store whose next transaction to begin commits but reports a lost connection. */
function loseNextCommit(engine: Engine) {
  const next = { isLost: false }
  const lossy: Engine = {
    ...engine,
    async write(work) {
      const { isLost } = next
      const done = await engine.write(work)
      if (!isLost) return done
      next.isLost = false
      throw new StoreError('the connection is lost at the commit')
    },
  }
  return { lossy, next }
}

onBoth(
  'a payment is credited once, and its call charged once, if the result of their commit is lost',
  async (store) => {
    const { lossy, next } = loseNextCommit(store.engine)
    const harness = settlingHarness(lossy)
    const { chain, ctx, settling, authorize } = harness
    const caller: Caller = { ...CALLER, dailyQuota: 0 }
    const authorization = authorize(1)
    chain.fund(authorization.from, 1_000_000n)
    const paying = payWith(ctx, settling, caller, callWith(authorization))
    // The transaction's hash is stored before the commit that is lost.
    while ((await harness.hints()).length === 0) await nextTurn()
    next.isLost = true
    chain.mine()
    const paid = await paying
    assert.ok(paid.kind === 'refusal')
    assert.equal(paid.code, 'settlement_pending')
    assert.deepEqual(await harness.states(), ['credited'])
    const meter = getMeter(testContext({ accounts: store.replica(), clock: ctx.clock }))
    const { requestCount, prepaidBalance } = await meter.rateLimit(caller)
    assert.deepEqual({ requestCount, prepaidBalance }, { requestCount: 1, prepaidBalance: 99_900n })
    assert.deepEqual(await harness.audit(), [])
    for (const check of [...ledgerChecks, ...callerChecks])
      assert.deepEqual(await store.engine.snapshot(check.run), [], check.name)
  },
)

onBoth(
  'a client that left is not charged; its payment serves the call when it comes again',
  async (store) => {
    const harness = settlingHarness(store.engine)
    const { chain, ctx, settling, authorize, credits } = harness
    const caller: Caller = { ...CALLER, dailyQuota: 0 }
    const authorization = authorize(1)
    chain.fund(authorization.from, 1_000_000n)
    const paying = payWith(ctx, settling, caller, callWith(authorization, true))
    await untilSent(harness, 1)
    chain.mine()
    const cut = await paying
    assert.equal(cut.kind, 'balance')
    assert.deepEqual(await credits(), [`bucket:${CALLER.bucket}`])
    const { requestCount, prepaidBalance } = await getMeter(ctx).rateLimit(caller)
    assert.deepEqual(
      { requestCount, prepaidBalance },
      { requestCount: 0, prepaidBalance: 100_000n },
    )
    const again = await payWith(ctx, settling, caller, callWith(authorization))
    assert.equal(again.kind, 'balance')
    const used = await payWith(ctx, settling, caller, callWith(authorization))
    assert.ok(used.kind === 'refusal')
    assert.equal(used.code, 'payment_already_used')
  },
)
