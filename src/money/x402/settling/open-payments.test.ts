import assert from 'node:assert/strict'
import { createMeter } from '#callers/metering/meter/meter.ts'
import type { Address } from '#domain/address.ts'
import type { Caller } from '#domain/caller.ts'
import { payerBucket } from '#ledger/account.ts'
import { accountsMigrations } from '#main/stores.ts'
import { sql } from '#store/sql.ts'
import { startPostgres } from '#test/postgres.ts'
import { eachEngine } from '#test/store/each-engine.ts'
import { CallPayments, openPaymentOfCaller } from '../pay-for-call.ts'
import { PaymentReceiver } from '../payment-receiver.ts'
import { signedInCaller } from '../sign-in/signed-in.ts'
import { CALLER } from '../x402-harness.ts'
import { reservePayment } from './reserve-payment.ts'
import { payer, settlingHarness } from './settling-harness.ts'
import type { Payee } from './x402-payment.ts'

const onBoth = eachEngine(startPostgres, accountsMigrations)

const WALLET: Address = `0x${'11'.repeat(20)}`
const KEY = { kind: 'key', publicId: 'aaaaaaaa', wallet: WALLET } as const
const HOLDER: Caller = {
  ...KEY,
  kind: 'keyed',
  identity: 'key:s_aaaaaaaa',
  bucket: `wallet:${WALLET}`,
  tier: 'free',
  dailyQuota: 1,
}

onBoth(
  "a stranger's payment for a key holds up neither the calls nor the payments of its holder",
  async ({ engine }) => {
    const { authorize, paymentOf, deps } = settlingHarness(engine)
    const reserve = (n: number, payee: Payee) =>
      engine.write((tx) =>
        reservePayment(tx, { ...paymentOf(authorize(n), `payment-${n}`), payee }),
      )
    assert.equal(await reserve(1, { ...KEY, isOwn: false }), 'reserved')
    assert.equal(await openPaymentOfCaller(deps, HOLDER), undefined)
    assert.equal(await reserve(2, { ...KEY, isOwn: true }), 'reserved')
    assert.equal((await openPaymentOfCaller(deps, HOLDER))?.id, 'payment-2')
    assert.equal(await reserve(3, { ...KEY, isOwn: true }), 'busy')
    assert.equal(await reserve(4, { ...KEY, isOwn: false }), 'reserved')
  },
)

onBoth(
  'a signed-in wallet is asked for no second payment while one for its balance, its address or by itself is open',
  async ({ engine }) => {
    for (const [n, payee] of [
      { kind: 'bucket', bucket: payerBucket(payer(90)) } as const,
      { kind: 'bucket', bucket: CALLER.bucket } as const,
      undefined,
    ].entries()) {
      const { authorize, paymentOf, settling } = settlingHarness(engine)
      const wallet = payer(90)
      const payment = paymentOf(authorize(n + 1), `payment-${n}`)
      const { authorization } = payment
      const from = payee === undefined ? wallet : authorization.from
      const open = { ...payment, authorization: { ...authorization, from } }
      await engine.write((tx) => reservePayment(tx, { ...open, payee: payee ?? payment.payee }))
      const calls = new (class extends CallPayments {
        override async signedIn() {
          return signedInCaller(wallet)
        }
      })({
        ...settling,
        receiver: new PaymentReceiver(settling),
        settlements: settling.recoveries,
        meter: createMeter({ ...settling, engine }),
        quotaBody: () => ({}),
      })
      const offered = await calls.offer(CALLER, {
        ...{ requestId: 'r', headers: {}, addressBucket: CALLER.bucket, target: '/api/stats' },
        signal: new AbortController().signal,
      })
      assert.ok(offered.kind === 'refusal')
      assert.equal(offered.code, 'settlement_pending')
      await engine.write((tx) => tx.run(sql`update x402_intents set status = 'abandoned'`))
    }
  },
)
