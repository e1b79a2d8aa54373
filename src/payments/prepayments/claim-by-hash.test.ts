import assert from 'node:assert/strict'
import { hash } from '#test/payments/fake-chain.ts'
import {
  ALICE_KEY,
  ALICE_KEY_2,
  alice,
  audited,
  HARNESS_MIGRATIONS,
  type Harness,
  MALLORY_KEY,
  wallet,
} from '#test/payments/payments-harness.ts'
import { startPostgres } from '#test/postgres.ts'
import { eachEngine } from '#test/store/each-engine.ts'

const withPayments = audited(eachEngine(startPostgres, HARNESS_MIGRATIONS))

const keyShown = async (harness: Harness) => {
  const outcome = await harness.read(hash('tx'))
  assert.ok(outcome.kind === 'answer')
  return (outcome.body as { readonly apiKeyPublicId: string }).apiKeyPublicId
}

/** A stranger claims for a key of his own, first and with all that he has. */
const hijack = async (harness: Harness) => {
  await harness.claim({ key: MALLORY_KEY, tx: 'tx', payer: alice, as: MALLORY_KEY })
  harness.now.ms += 1_000
}

withPayments(
  "by its hash the payer's own prepayment is shown, not one that a stranger posted before",
  async (harness) => {
    await hijack(harness)
    await harness.claim({ tx: 'tx' })
    harness.pay('tx')
    assert.equal(await keyShown(harness), ALICE_KEY)
    harness.now.ms += 1_000
    await harness.claim({ key: ALICE_KEY_2, tx: 'tx', as: ALICE_KEY_2 })
    assert.equal(await keyShown(harness), ALICE_KEY_2)
    await harness.confirm()
    assert.equal(await keyShown(harness), ALICE_KEY_2)
  },
)

withPayments(
  'by its hash a prepayment that the payer signed is shown before one of a stranger',
  async (harness) => {
    const friend = wallet('friend')
    await hijack(harness)
    await harness.claimProven('tx', friend)
    harness.pay('tx', 1_000_000n, friend)
    assert.equal(await keyShown(harness), ALICE_KEY)
  },
)
