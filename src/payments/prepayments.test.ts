import assert from 'node:assert/strict'
import { eachEngine } from '#ledger/each-engine.ts'
import { startPostgres } from '#test/postgres.ts'
import {
  ALICE_KEY,
  alice,
  type Claimed,
  codeOf,
  createHarness,
  HARNESS_MIGRATIONS,
  type Harness,
  hash,
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

const pay = (harness: Harness, tx: string, amount: bigint, from = alice) =>
  harness.chain.mine([{ tx, from, amount }])

const claimAlice = (harness: Harness, tx: string) =>
  harness.claim({ key: ALICE_KEY, tx, payer: alice })

const idOf = (outcome: Awaited<ReturnType<Harness['claim']>>) => {
  assert.ok(outcome.kind === 'answer', JSON.stringify(outcome))
  return (outcome.body as Claimed).id
}

withPayments(
  'a claimed transfer is credited after the required blocks and not before',
  async (harness) => {
    const outcome = await claimAlice(harness, 'tx')
    assert.equal(codeOf(outcome), 201)
    const first = outcome.kind === 'answer' ? outcome.body : undefined
    assert.deepEqual(first, {
      id: idOf(outcome),
      txHash: hash('tx'),
      amountUsd: 1,
      verified: false,
      message: 'pending_verification',
      status: 'pending',
      apiKeyPublicId: ALICE_KEY,
      payerAddress: (await harness.record(hash('tx'))).payerAddress,
      creditedUsd: null,
      confirmations: 0,
      requiredConfirmations: 10,
      createdAt: '2026-11-21T12:00:00Z',
      verifiedAt: null,
    })
    pay(harness, 'tx', 2_500_000n)
    harness.chain.mineEmpty(9)
    await harness.pass()
    const waiting = await harness.record(hash('tx'))
    assert.deepEqual([waiting.status, waiting.confirmations], ['confirming', 9])
    assert.equal(await harness.balance(ALICE_KEY), 0n)
    harness.chain.mine()
    await harness.pass()
    const done = await harness.record(idOf(outcome))
    assert.deepEqual(
      [done.status, done.message, done.verified, done.amountUsd, done.creditedUsd],
      ['verified', 'verified', true, 2.5, 2.5],
    )
    assert.equal(await harness.balance(ALICE_KEY), 2_500_000n)
  },
)

withPayments(
  'a payer who signs for the key is credited to it, another payer is not',
  async (harness) => {
    const friend = wallet('friend')
    pay(harness, 'tx', 700_000n, friend)
    const more = proofOf(friend, 'tx', ALICE_KEY)
    const forged = { ...more, payerSignature: mallory }
    const claim = { key: ALICE_KEY, tx: 'tx', payer: friend }
    assert.equal(codeOf(await harness.claim({ ...claim, more: forged })), 'invalid_signature')
    const half = { payerMessage: more.payerMessage }
    assert.equal(codeOf(await harness.claim({ ...claim, more: half })), 'invalid_body')
    assert.equal(codeOf(await harness.claim({ ...claim, more })), 201)
    await harness.confirm()
    assert.equal(await harness.balance(ALICE_KEY), 700_000n)
  },
)

withPayments('a reorg before the credit only starts the count anew', async (harness) => {
  pay(harness, 'tx', 1_000n)
  await claimAlice(harness, 'tx')
  harness.chain.mineEmpty(5)
  await harness.pass()
  harness.chain.drop(6)
  await harness.pass()
  assert.equal((await harness.record(hash('tx'))).status, 'pending')
  pay(harness, 'tx', 1_000n)
  await harness.confirm()
  assert.equal(await harness.balance(ALICE_KEY), 1_000n)
})

withPayments('an index that is behind or still loading takes no credit back', async (harness) => {
  harness.chain.mineEmpty(20)
  pay(harness, 'tx', 1_000n)
  await claimAlice(harness, 'tx')
  await harness.confirm()
  harness.chain.completeFromBlock = harness.chain.height
  await harness.pass()
  assert.equal(await harness.balance(ALICE_KEY), 1_000n)
  harness.chain.completeFromBlock = 0
  const behind = createHarness(harness.engine)
  behind.now.ms = harness.now.ms
  await behind.pass()
  assert.equal(await harness.balance(ALICE_KEY), 1_000n)
})

withPayments('a key that is unknown or revoked cannot be claimed for', async (harness) => {
  const claim = { tx: 'tx', payer: alice }
  assert.equal(codeOf(await harness.claim({ ...claim, key: '00000000' })), 'key_not_found')
  harness.keys.set(ALICE_KEY, { wallet: alice, revokedUnix: 1 })
  assert.equal(codeOf(await harness.claim({ ...claim, key: ALICE_KEY })), 'key_revoked')
  const unknown = { more: { tier: 'premium' }, key: ALICE_KEY }
  assert.equal(codeOf(await harness.claim({ ...claim, ...unknown })), 'invalid_body')
  assert.equal(codeOf(await harness.read(hash('never posted'))), 'prepayment_not_found')
  assert.equal(codeOf(await harness.read('nonsense')), 'invalid_parameter')
})

withPayments('who waits for a prepayment is answered as soon as it is decided', async (harness) => {
  pay(harness, 'tx', 1_000n)
  const id = idOf(await claimAlice(harness, 'tx'))
  harness.chain.mineEmpty(10)
  const waiting = harness.read(id, 30)
  while (harness.waker.count === 0) await new Promise((resolve) => setImmediate(resolve))
  await harness.pass()
  const outcome = await waiting
  assert.equal(outcome.kind === 'answer' && (outcome.body as Claimed).status, 'verified')
  assert.equal(harness.waker.count, 0)
})

onBoth('one replica verifies at a time, and another takes over when it dies', async (store) => {
  const one = createHarness(store.engine, 'one')
  const two = createHarness(store.replica(), 'two')
  assert.equal((await one.pass()).kind, 'done')
  assert.equal((await two.pass()).kind, 'idle')
  two.now.ms += 10_001
  assert.equal((await two.pass()).kind, 'done')
  await one.claim({ key: ALICE_KEY, tx: 'tx', payer: alice })
  one.chain.mine([{ tx: 'tx', from: alice, amount: 5n }])
  one.chain.mineEmpty(10)
  assert.equal((await one.pass()).kind, 'idle')
  assert.equal(await one.balance(ALICE_KEY), 0n)
  await two.stop()
  assert.equal((await one.pass()).kind, 'done')
  assert.equal(await one.balance(ALICE_KEY), 5n)
})
