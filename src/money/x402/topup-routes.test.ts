import assert from 'node:assert/strict'
import { decodePaymentResponseHeader } from '@x402/core/http'
import { bucketAccount } from '#accounts/ledger/account.ts'
import { spendCalls } from '#accounts/ledger/spend.ts'
import type { Deposit } from '#domain/deposit.ts'
import { isRefusal } from '#domain/refusal.ts'
import { DAY_SECONDS } from '#lib/time.ts'
import { accountsMigrations } from '#main/stores.ts'
import { creditDeposit, liveCreditsOf, reverseCredit } from '#money/payments/credit.ts'
import type { Outcome } from '#route/route.ts'
import type { Engine } from '#store/engine.ts'
import { startPostgres } from '#test/postgres.ts'
import { eachEngine } from '#test/store/each-engine.ts'
import { testCall } from '#test/test-call.ts'
import { settlingHarness } from '#test/x402/settling-harness.ts'
import {
  CALLER,
  depositOf,
  NOON_UNIX,
  newPayment,
  PAY_TO,
  PAYER,
  SIGNATURE,
  storePayment,
  word,
} from '#test/x402/x402-harness.ts'
import type { PaymentPayload } from './offers/payment-payload.ts'
import { PaymentReceiver, type Received } from './payment-receiver.ts'
import type { SettleOutcome } from './settling/settle-payment.ts'
import type { PaymentStatus } from './settling/x402-payment.ts'
import { topupRoutes } from './topup-routes.ts'

const onBoth = eachEngine(startPostgres, accountsMigrations)

const ACCOUNT = bucketAccount(CALLER.bucket)
const DEPOSIT: Deposit = {
  ...depositOf({ from: PAYER, to: PAY_TO, value: 100_000n }, 1),
  timestampUnix: NOON_UNIX,
}

/** A receiver whose payments are settled as a test says, with what the store is to say of them by then. */
function settlingReceiver(engine: Engine) {
  const { settling, deps, authorize } = settlingHarness(engine)
  const authorization = { ...authorize(1), from: PAYER }
  const payload: PaymentPayload = {
    ...{ version: 2, scheme: 'exact', network: 'eip155:8453', accepted: undefined },
    ...{ authorization, signature: SIGNATURE },
  }
  const store = (status: PaymentStatus, creditId?: string) =>
    storePayment(engine, {
      authorization,
      bucket: CALLER.bucket,
      status,
      ...(creditId !== undefined && { creditId }),
    })
  return {
    deps,
    store,
    async credit(): Promise<void> {
      const credit = { id: 'credit', deposit: DEPOSIT, claimId: null, nowUnix: 3 }
      await engine.write((tx) => creditDeposit(tx, { ...credit, account: ACCOUNT, owner: PAYER }))
      await store('credited', credit.id)
    },
    /** The answer to a top-up whose payment is settled so. */
    async topUp(outcome: SettleOutcome): Promise<Outcome> {
      const receiver = new (class extends PaymentReceiver {
        override async receive(): Promise<Received> {
          return { kind: 'fresh', payload }
        }
        override async settle(): Promise<SettleOutcome> {
          return outcome
        }
      })(settling)
      const [route] = topupRoutes({ ...settling, receiver })
      const prepared = route?.prepare({ query: new Map(), path: {}, body: {} })
      assert.ok(prepared !== undefined && !isRefusal(prepared))
      const headers = { 'payment-signature': 'read by the receiver' }
      return prepared.run(testCall({ headers, addressBucket: CALLER.bucket }), CALLER)
    },
  }
}

function responseOf(outcome: Outcome) {
  const headers = 'headers' in outcome ? outcome.headers : undefined
  return decodePaymentResponseHeader(headers?.['PAYMENT-RESPONSE'] ?? '')
}

/** The outcome of a payment that another writer ends. */
const SETTLED = {
  kind: 'settled',
  payment: newPayment(9),
  paid: { kind: 'paid', deposit: DEPOSIT },
} as const

onBoth(
  'a top-up whose credit was made by somebody else a moment before is told in full',
  async ({ engine }) => {
    const receiver = settlingReceiver(engine)
    await receiver.credit()
    const topup = await receiver.topUp(SETTLED)
    assert.ok(topup.kind === 'answer')
    const { verifiedAt, ...body } = topup.body as Readonly<Record<string, unknown>>
    assert.deepEqual(body, {
      txHash: DEPOSIT.txHash,
      amountUsd: 0.1,
      verified: true,
      message: 'verified',
      apiKeyPublicId: null,
      payerAddress: PAYER,
      creditedUsd: 0.1,
      repaidUsd: 0,
      prepaidBalanceUsd: 0.1,
    })
    assert.equal(responseOf(topup).success, true)
  },
)

onBoth('a top-up that repays a debt says what of it is on the balance', async ({ engine }) => {
  const receiver = settlingReceiver(engine)
  const lost = { ...DEPOSIT, txHash: word(2), blockHash: word(2) }
  await engine.write(async (tx) => {
    const account = { account: ACCOUNT, owner: PAYER, claimId: null }
    await creditDeposit(tx, { id: 'lost', deposit: lost, ...account, nowUnix: 1 })
    await spendCalls(tx, { calls: new Map([[ACCOUNT, 400]]), pricePerCall: 100n, day: DAY_SECONDS })
    for (const credit of await liveCreditsOf(tx, [lost.txHash]))
      await reverseCredit(tx, { credit, nowUnix: 2 })
  })
  await receiver.credit()
  const topup = await receiver.topUp(SETTLED)
  assert.ok(topup.kind === 'answer')
  const body = topup.body as Readonly<Record<string, unknown>>
  assert.equal(body.amountUsd, 0.1)
  assert.equal(body.creditedUsd, 0.06)
  assert.equal(body.repaidUsd, 0.04)
  assert.equal(body.prepaidBalanceUsd, 0.06)
})

onBoth(
  'a top-up whose transfer a prepayment has is 409 with a good response, and says so',
  async ({ engine }) => {
    const receiver = settlingReceiver(engine)
    await receiver.store('claimed')
    const topup = await receiver.topUp(SETTLED)
    assert.ok(isRefusal(topup))
    assert.equal(topup.code, 'payment_already_used')
    assert.equal(topup.members?.transaction, DEPOSIT.txHash)
    assert.equal(responseOf(topup).success, true)
    assert.equal(responseOf(topup).transaction, DEPOSIT.txHash)
  },
)

onBoth(
  'a top-up whose end is open is 503 with the response that names its transaction',
  async ({ engine }) => {
    const receiver = settlingReceiver(engine)
    await receiver.store('submitted')
    for (const outcome of [SETTLED, { kind: 'pending', transaction: DEPOSIT.txHash } as const]) {
      const topup = await receiver.topUp(outcome)
      assert.ok(isRefusal(topup))
      assert.equal(topup.code, 'settlement_pending')
      const response = responseOf(topup)
      assert.equal(response.success, false)
      assert.equal(response.errorReason, 'settlement_pending')
      assert.equal(response.transaction, DEPOSIT.txHash)
    }
  },
)
