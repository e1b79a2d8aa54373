import assert from 'node:assert/strict'
import { decodePaymentResponseHeader } from '@x402/core/http'
import { bucketAccount, spendCalls } from '#accounts/ledger/ledger.ts'
import { isRefusal } from '#base/refusal.ts'
import { DAY_SECONDS } from '#base/time.ts'
import type { Engine } from '#db/engine.ts'
import { accountsMigrations } from '#main/stores.ts'
import { creditDeposit, listLiveCredits, reverseCredit } from '#payments/prepayments/credit.ts'
import type { Outcome } from '#route.ts'
import { startPostgres } from '#test/postgres.ts'
import { eachEngine } from '#test/store/each-engine.ts'
import { settlingHarness, untilSent } from '#test/x402/settling-harness.ts'
import { ACCEPTED, CALLER, depositOf, PAY_TO, PAYER, SIGNATURE } from '#test/x402/x402-harness.ts'
import { toBase64 } from './offer.ts'
import { toPayee, topUpWith } from './pay.ts'
import { writeSigned } from './payload.ts'
import { judgePayment } from './settlement.ts'
import type { Settling } from './settling.ts'

const onBoth = eachEngine(startPostgres, accountsMigrations)

const ACCOUNT = bucketAccount(CALLER.bucket)
/** The top-up of a payment whose transfer is on the chain, or not, when it comes. */
function topupOn(engine: Engine) {
  const harness = settlingHarness(engine)
  const { chain, ctx, settling, authorize } = harness
  const authorization = { ...authorize(1), from: PAYER }
  chain.fund(PAYER, 1_000_000n)
  const topUp = (facilitator: Partial<Settling> = {}): Promise<Outcome> => {
    const payload = writeSigned({ authorization, signature: SIGNATURE })
    const header = toBase64({ x402Version: 2, accepted: ACCEPTED, payload })
    const facts = { headers: { 'payment-signature': header }, addressBucket: CALLER.bucket }
    const input = { caller: CALLER, payee: toPayee(CALLER), amount: 100_000n, facts }
    return topUpWith(ctx, { ...settling, waitMs: 500, ...facilitator }, input)
  }
  const topUpSealed = async () => {
    const paying = topUp({ waitMs: 3_000 })
    await untilSent(harness, 1)
    chain.mine()
    return paying
  }
  return { ...harness, authorization, topUp, topUpSealed }
}

function responseOf(outcome: Outcome) {
  const headers = 'headers' in outcome ? outcome.headers : undefined
  return decodePaymentResponseHeader(headers?.['PAYMENT-RESPONSE'] ?? '')
}

onBoth('a top-up is answered in full', async ({ engine }) => {
  const topup = await topupOn(engine).topUpSealed()
  assert.ok(topup.kind === 'answer')
  const { verifiedAt, txHash, ...body } = topup.body as Readonly<Record<string, unknown>>
  assert.deepEqual(body, {
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
  assert.equal(responseOf(topup).transaction, txHash)
})

onBoth('a top-up that repays a debt says what of it is on the balance', async ({ engine }) => {
  const { topUpSealed } = topupOn(engine)
  const lost = depositOf({ from: PAYER, to: PAY_TO, value: 100_000n }, 2)
  await engine.write(async (tx) => {
    const account = { account: ACCOUNT, owner: PAYER, claimId: null }
    await creditDeposit(tx, { id: 'lost', deposit: lost, ...account, nowUnix: 1 })
    await spendCalls(tx, { calls: new Map([[ACCOUNT, 400]]), pricePerCall: 100n, day: DAY_SECONDS })
    for (const credit of await listLiveCredits(tx, lost.txHash)) await reverseCredit(tx, credit, 2)
  })
  const topup = await topUpSealed()
  assert.ok(topup.kind === 'answer')
  const body = topup.body as Readonly<Record<string, unknown>>
  assert.equal(body.amountUsd, 0.1)
  assert.equal(body.creditedUsd, 0.06)
  assert.equal(body.repaidUsd, 0.04)
  assert.equal(body.prepaidBalanceUsd, 0.06)
})

onBoth('a top-up whose transfer a prepayment has is 409', async ({ engine }) => {
  const { chain, authorization, settling, topUp, states, ...harness } = topupOn(engine)
  const payment = harness.paymentOf(authorization, 'payment-1')
  await harness.submit(payment)
  chain.mine(8)
  const verdict = await judgePayment(settling, payment)
  assert.ok(verdict.kind === 'paid')
  const { deposit } = verdict
  const claimed = { id: 'claimed', deposit, claimId: null, nowUnix: 3 }
  await engine.write((tx) => creditDeposit(tx, { ...claimed, account: ACCOUNT, owner: PAYER }))
  await harness.finish()
  const topup = await topUp()
  assert.ok(isRefusal(topup))
  assert.equal(topup.code, 'payment_already_used')
  assert.deepEqual(await states(), ['failed'])
})

onBoth(
  'a top-up whose end is open is 503 with the response that names its transaction',
  async ({ engine }) => {
    const { chain, topUp } = topupOn(engine)
    const topup = await topUp()
    assert.ok(isRefusal(topup))
    assert.equal(topup.code, 'settlement_pending')
    const response = responseOf(topup)
    assert.equal(response.success, false)
    assert.equal(response.errorReason, 'settlement_pending')
    assert.equal(response.transaction, chain.sent[0])
  },
)

onBoth('a top-up while the facilitator is unusable is 503 with Retry-After', async ({ engine }) => {
  const { topUp, states } = topupOn(engine)
  const topup = await topUp({ isReady: async () => false })
  assert.ok(isRefusal(topup))
  assert.equal(topup.code, 'data_not_ready')
  assert.equal(topup.retryAfterSeconds, 60)
  assert.deepEqual(await states(), [])
})
