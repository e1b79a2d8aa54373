import assert from 'node:assert/strict'
import type { Address } from '#domain/address.ts'
import type { Caller } from '#domain/caller.ts'
import { accountsMigrations } from '#main/stores.ts'
import { startPostgres } from '#test/postgres.ts'
import { eachEngine } from '#test/store/each-engine.ts'
import { settlingHarness } from '#test/x402/settling-harness.ts'
import { openPaymentOfCaller } from '../pay-for-call.ts'
import { reservePayment } from './reserve-payment.ts'
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
