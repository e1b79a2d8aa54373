import assert from 'node:assert/strict'
import type { Deposit } from '#domain/deposit.ts'
import { accountsMigrations } from '#main/stores.ts'
import { startPostgres } from '#test/postgres.ts'
import { eachEngine } from '#test/store/each-engine.ts'
import { settlingHarness } from '#test/x402/settling-harness.ts'
import { depositOf, NOON_UNIX, word } from '#test/x402/x402-harness.ts'
import { depositCheck } from './deposit-check.ts'
import { creditPayment } from './settling/credit-payment.ts'
import { insertPayment, setPaymentStatus } from './settling/payment-store.ts'

const onBoth = eachEngine(startPostgres, accountsMigrations)

onBoth(
  'the audit finds a payment that was given up though its money came, and no other',
  async ({ engine }) => {
    const { deps, authorize, paymentOf } = settlingHarness(engine)
    const authorization = authorize(1)
    const payment = { ...paymentOf(authorization, 'payment-1'), fromBlock: 1_000 }
    const deposit: Deposit = {
      // Somebody else sent it before it was reserved.
      ...depositOf(authorization, 700),
      ...{ timestampUnix: NOON_UNIX + 20, txHash: word(77), logIndex: 3 },
    }
    const audit = async (...deposits: Deposit[]) => {
      const head = { number: 1_020, hash: word(20), timestamp: NOON_UNIX + 40 }
      const canonical = async (query: object) => {
        const isFirst = 'after' in query && Object(query.after).positionInTx === -1
        return { head, completeFromBlock: 0, isComplete: true, deposits: isFirst ? deposits : [] }
      }
      const check = depositCheck({ deposits: { canonical }, clock: deps.clock })
      return (await engine.snapshot(check.run)).map(({ subject }) => subject)
    }
    await engine.write((tx) => insertPayment(tx, payment))
    assert.deepEqual(await audit(deposit), [], 'on its way')
    const ended = { id: payment.id, from: 'reserved', to: 'abandoned' } as const
    const nowUnix = NOON_UNIX
    await engine.write((tx) => setPaymentStatus(tx, { ...ended, lookUnix: nowUnix }))
    assert.deepEqual(await audit(deposit), [], 'looked at again soon')
    await engine.write((tx) => setPaymentStatus(tx, { ...ended, from: 'abandoned' }))
    assert.deepEqual(await audit(deposit), ['payment-1 abandoned'])
    assert.deepEqual(await audit(), [])
    for (const other of [
      { ...deposit, amount: 1n },
      { ...deposit, from: deposit.to },
      { ...deposit, blockNumber: 500 },
      { ...deposit, timestampUnix: NOON_UNIX + 300 },
    ])
      assert.deepEqual(await audit(other), [])
    const paid = { kind: 'paid', deposit } as const
    await engine.write((tx) => creditPayment(tx, deps, { payment, paid, isServed: false }))
    assert.deepEqual(await audit(deposit), [])
  },
)
