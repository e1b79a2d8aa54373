import assert from 'node:assert/strict'
import { eachEngine } from '#ledger/each-engine.ts'
import { StoreError } from '#store/engine.ts'
import { startPostgres } from '#test/postgres.ts'
import {
  ALICE_KEY,
  ALICE_KEY_2,
  alice,
  createHarness,
  HARNESS_MIGRATIONS,
  type Harness,
  hash,
  MALLORY_KEY,
  mallory,
  proofOf,
  wallet,
} from './payments-harness.ts'

const onBoth = eachEngine(startPostgres, HARNESS_MIGRATIONS)
const withPayments = (guarantee: string, work: (harness: Harness) => Promise<void>) =>
  onBoth(guarantee, async ({ engine }) => {
    const harness = createHarness(engine)
    await work(harness)
    assert.deepEqual(await harness.audit(), [])
  })

const pay = (harness: Harness, from = alice) =>
  harness.chain.mine([{ tx: 'tx', from, amount: 1_000_000n }])

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
    await harness.claim({ key: ALICE_KEY, tx: 'tx', payer: alice })
    pay(harness)
    assert.equal(await keyShown(harness), ALICE_KEY)
    harness.now.ms += 1_000
    await harness.claim({ key: ALICE_KEY_2, tx: 'tx', payer: alice, as: ALICE_KEY_2 })
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
    const more = proofOf(friend, 'tx', ALICE_KEY)
    await harness.claim({ key: ALICE_KEY, tx: 'tx', payer: friend, more })
    pay(harness, friend)
    assert.equal(await keyShown(harness), ALICE_KEY)
  },
)

withPayments(
  'by its hash a prepayment is found also while the index cannot be read',
  async (harness) => {
    await harness.claim({ key: MALLORY_KEY, tx: 'tx', payer: mallory })
    harness.chain.canonical = () => Promise.reject(new StoreError('the index is away'))
    assert.equal(await keyShown(harness), MALLORY_KEY)
    harness.chain.canonical = async () => ({
      head: { number: 0, hash: hash('genesis'), timestamp: 0 },
      completeFromBlock: 0,
      deposits: [],
    })
  },
)
