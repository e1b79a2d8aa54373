import assert from 'node:assert/strict'
import type { Address } from '#domain/address.ts'
import { accountsMigrations } from '#main/stores.ts'
import { startPostgres } from '#test/postgres.ts'
import { eachEngine } from '#test/store/each-engine.ts'
import { settlingHarness } from '#test/x402/settling-harness.ts'
import { finishPayments } from './finish-payments.ts'

const onBoth = eachEngine(startPostgres, accountsMigrations)

const OTHER: Address = `0x${'9c'.repeat(20)}`

for (const change of [{ payTo: [{ address: OTHER, since: '2026-11-23' }] }, { asset: OTHER }])
  onBoth(
    `a payment sent before the file's ${Object.keys(change)[0]} was replaced is credited`,
    async ({ engine }) => {
      const harness = settlingHarness(engine)
      const { chain, authorize, leading } = harness
      const authorization = authorize(1, 3_600)
      chain.fund(authorization.from, 1_000_000n)
      const payment = harness.paymentOf(authorization, 'payment-1')
      await harness.submit(payment)
      const changed = { ...leading, payment: { ...leading.payment, ...change } }
      for (let n = 0; n < 10; n += 1) {
        chain.mine()
        await finishPayments(changed)
      }
      assert.deepEqual(await harness.credits(), ['bucket:192.0.2.1'])
      assert.deepEqual(await harness.states(), ['credited'])
      assert.deepEqual(harness.reports, [])
      assert.deepEqual(await harness.audit(), [])
    },
  )
