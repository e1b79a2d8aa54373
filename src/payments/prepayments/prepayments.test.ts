import assert from 'node:assert/strict'
import { DAY_SECONDS } from '#base/time.ts'
import { hash } from '#test/payments/fake-chain.ts'
import {
  ALICE_KEY,
  alice,
  audited,
  type Claimed,
  claimedOf,
  codeOf,
  createHarness,
  HARNESS_MIGRATIONS,
  mallory,
  proofOf,
  wallet,
} from '#test/payments/payments-harness.ts'
import { startPostgres } from '#test/postgres.ts'
import { eachEngine } from '#test/store/each-engine.ts'

const withPayments = audited(eachEngine(startPostgres, HARNESS_MIGRATIONS))

withPayments(
  'a claimed transfer is credited after the required blocks and not before',
  async (harness) => {
    const outcome = await harness.claim({ tx: 'tx' })
    assert.equal(codeOf(outcome), 201)
    const first = outcome.kind === 'answer' ? outcome.body : undefined
    assert.deepEqual(first, {
      id: claimedOf(outcome).id,
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
    harness.pay('tx', 2_500_000n)
    harness.chain.mineEmpty(9)
    await harness.pass()
    const waiting = await harness.record(hash('tx'))
    assert.deepEqual([waiting.status, waiting.confirmations], ['confirming', 9])
    assert.equal(await harness.balance(ALICE_KEY), 0n)
    harness.chain.mine()
    await harness.pass()
    const done = await harness.record(claimedOf(outcome).id)
    assert.deepEqual(
      [done.status, done.message, done.verified, done.amountUsd, done.creditedUsd],
      ['verified', 'verified', true, 2.5, 2.5],
    )
    assert.equal(await harness.balance(ALICE_KEY), 2_500_000n)
  },
)

withPayments(
  'pending, confirming and expired follow from the chain and the clock, also while nobody verifies',
  async (harness) => {
    const { id } = claimedOf(await harness.claim({ tx: 'tx' }))
    const shown = async () => {
      const { status, confirmations } = await harness.record(id)
      return `${status} ${confirmations}`
    }
    assert.equal(await shown(), 'pending 0')
    harness.pay('tx', 1_000n)
    harness.chain.mineEmpty(4)
    assert.equal(await shown(), 'confirming 4')
    harness.chain.drop(5)
    assert.equal(await shown(), 'pending 0')
    harness.now.ms += DAY_SECONDS * 1_000
    assert.equal(await shown(), 'expired 0')
    harness.pay('tx', 1_000n)
    harness.chain.mineEmpty(20)
    assert.equal(await shown(), 'confirming 10')
    await harness.pass()
    assert.equal(await shown(), 'verified 10')
  },
)

withPayments(
  'a payer who signs for the key is credited to it, another payer is not',
  async (harness) => {
    const friend = wallet('friend')
    const more = proofOf(friend, 'tx', ALICE_KEY)
    const forged = { ...more, payerSignature: proofOf(mallory, 'tx', ALICE_KEY).payerSignature }
    const claim = { key: ALICE_KEY, tx: 'tx', payer: friend }
    assert.equal(codeOf(await harness.claim({ ...claim, more: forged })), 'invalid_signature')
    const half = { payerMessage: more.payerMessage }
    assert.equal(codeOf(await harness.claim({ ...claim, more: half })), 'invalid_body')
    harness.pay('tx', 700_000n, friend)
    assert.equal(codeOf(await harness.claim({ ...claim, more })), 201)
    await harness.confirm()
    assert.equal(await harness.balance(ALICE_KEY), 700_000n)
  },
)

withPayments(
  'the 201 says that the payer neither owns the key nor signed, and only then',
  async (harness) => {
    const friend = wallet('friend')
    const hintOf = async (tx: string, payer: typeof alice, more = {}) =>
      claimedOf(await harness.claim({ tx, payer, more })).hint
    assert.match((await hintOf('unsigned', friend)) ?? '', /action=link-payer/)
    assert.equal(await hintOf('unsigned', friend), undefined, 'the 200 is the bare record')
    assert.equal(await hintOf('signed', friend, proofOf(friend, 'signed', ALICE_KEY)), undefined)
    assert.equal(await hintOf('own', alice), undefined)
  },
)

withPayments('a reorg before the credit only starts the count anew', async (harness) => {
  harness.pay('tx', 1_000n)
  await harness.claim({ tx: 'tx' })
  harness.chain.mineEmpty(5)
  await harness.pass()
  harness.chain.drop(6)
  await harness.pass()
  assert.equal((await harness.record(hash('tx'))).status, 'pending')
  harness.pay('tx', 1_000n)
  await harness.confirm()
  assert.equal(await harness.balance(ALICE_KEY), 1_000n)
})

withPayments('an index that is behind takes no credit back', async (harness) => {
  harness.chain.mineEmpty(20)
  await harness.credit('tx', 1_000n)
  const behind = await createHarness(harness.engine)
  behind.now.ms = harness.now.ms
  await behind.pass()
  assert.equal(await harness.balance(ALICE_KEY), 1_000n)
})

withPayments('a key that is unknown or revoked cannot be claimed for', async (harness) => {
  const claim = { tx: 'tx', payer: alice }
  assert.equal(codeOf(await harness.claim({ ...claim, key: '00000000' })), 'key_not_found')
  await harness.hold(ALICE_KEY, { wallet: alice, revokedUnix: 1 })
  assert.equal(codeOf(await harness.claim({ ...claim, key: ALICE_KEY })), 'key_revoked')
  assert.equal(codeOf(await harness.read(hash('never posted'))), 'prepayment_not_found')
  assert.equal(codeOf(await harness.read('nonsense')), 'invalid_parameter')
})

withPayments('who waits for a prepayment is answered once it is decided', async (harness) => {
  harness.pay('tx', 1_000n)
  const id = claimedOf(await harness.claim({ tx: 'tx' })).id
  harness.chain.mineEmpty(10)
  const waiting = harness.read(id, 30)
  await harness.pass()
  const outcome = await waiting
  assert.equal(outcome.kind === 'answer' && (outcome.body as Claimed).status, 'verified')
})

withPayments('a file that no longer covers a payment reverses no credit', async (harness) => {
  await harness.credit('tx', 1_000n)
  harness.chain.uncover('tx')
  for (let pass = 0; pass < 3; pass += 1) {
    harness.now.ms += 60_000
    await harness.pass()
  }
  assert.equal(await harness.balance(ALICE_KEY), 1_000n)
  assert.deepEqual(await harness.audit(), [])
  assert.match(harness.notes.join('\n'), /1 credits belong to payments that .* no longer covers: /)
})

for (const [edit, before, after] of [
  ['removed from', [0, 1], [1]],
  ['added to', [1], [0, 1]],
] as const)
  withPayments(
    `the audit accepts credits of canonical blocks after an address was ${edit} payTo`,
    async (harness) => {
      harness.chain.covers = (logIndex) => before.some((each) => each === logIndex)
      const transfer = { tx: 'tx', from: alice }
      harness.chain.mine([
        { ...transfer, amount: 1_000n },
        { ...transfer, amount: 2_000n },
      ])
      await harness.claim({ tx: 'tx' })
      await harness.confirm()
      const credited = await harness.balance(ALICE_KEY)
      assert.deepEqual(await harness.audit(), [])
      harness.chain.covers = (logIndex) => after.some((each) => each === logIndex)
      harness.now.ms += 60_000
      await harness.pass()
      assert.equal(await harness.balance(ALICE_KEY), credited)
      assert.deepEqual(await harness.audit(), [])
    },
  )

withPayments(
  'no credit is reversed while it is unknown whether its block is canonical',
  async (harness) => {
    await harness.credit('tx', 1_000n)
    harness.chain.drop(11)
    harness.chain.mineEmpty(20)
    harness.chain.isSilent = true
    await harness.pass()
    assert.equal(await harness.balance(ALICE_KEY), 1_000n)
    harness.chain.isSilent = false
    harness.now.ms += 60_000
    await harness.pass()
    assert.equal(await harness.balance(ALICE_KEY), 0n)
  },
)
