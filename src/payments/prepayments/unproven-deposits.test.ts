import assert from 'node:assert/strict'
import { hash } from '#test/payments/fake-chain.ts'
import {
  ALICE_KEY,
  audited,
  createHarness,
  HARNESS_MIGRATIONS,
} from '#test/payments/payments-harness.ts'
import { startPostgres } from '#test/postgres.ts'
import { eachEngine } from '#test/store/each-engine.ts'

const withPayments = audited(eachEngine(startPostgres, HARNESS_MIGRATIONS))

withPayments(
  'an unproven deposit stays pending however deep it is, and is credited once proven',
  async (harness) => {
    harness.chain.unproven.add(hash('tx'))
    await harness.claim({ tx: 'tx' })
    harness.pay('tx', 1_000n)
    harness.chain.mineEmpty(50)
    await harness.pass()
    const { status, message, verified } = await harness.record(hash('tx'))
    assert.deepEqual([status, message, verified], ['confirming', 'pending_verification', false])
    assert.equal(await harness.balance(ALICE_KEY), 0n)
    harness.chain.unproven.clear()
    await harness.pass()
    assert.equal(await harness.balance(ALICE_KEY), 1_000n)
  },
)

withPayments(
  'an unproven deposit never ends a claim, by expiry or as a transfer from another payer',
  async (harness) => {
    harness.chain.unproven.add(hash('tx'))
    harness.pay('tx', 1_000n, `0x${'77'.repeat(20)}`)
    await harness.claim({ tx: 'tx' })
    harness.chain.mineEmpty(50)
    harness.now.ms += 48 * 3_600_000
    await harness.pass()
    assert.equal((await harness.record(hash('tx'))).status, 'confirming')
  },
)

withPayments(
  'a credit stays when deposits are read again and its own is unproven',
  async (harness) => {
    await harness.credit('tx', 1_000n)
    harness.chain.unproven.add(hash('tx'))
    harness.chain.mineEmpty(5)
    await harness.pass()
    // A second process, without memory of the credit.
    const second = await createHarness(harness.engine, { chain: harness.chain })
    await second.pass()
    assert.equal(await harness.balance(ALICE_KEY), 1_000n)
    assert.equal((await harness.record(hash('tx'))).status, 'verified')
  },
)
