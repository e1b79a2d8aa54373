import assert from 'node:assert/strict'
import { DAY_SECONDS } from '#base/time.ts'
import { sql } from '#db/sql.ts'
import { readSuspense } from '#payments/money-checks.ts'
import { hash } from '#test/payments/fake-chain.ts'
import {
  ALICE_KEY,
  ALICE_KEY_2,
  alice,
  audited,
  claimedOf,
  codeOf,
  createHarness,
  HARNESS_MIGRATIONS,
  MALLORY_KEY,
  mallory,
  wallet,
} from '#test/payments/payments-harness.ts'
import { startPostgres } from '#test/postgres.ts'
import { eachEngine } from '#test/store/each-engine.ts'

const withPayments = audited(eachEngine(startPostgres, HARNESS_MIGRATIONS))

withPayments(
  "A1: a stranger who posts the owner's hash with his own key is credited nothing",
  async (harness) => {
    harness.pay('tx', 1_000_000n)
    for (const payer of [alice, mallory]) await harness.claim({ key: MALLORY_KEY, tx: 'tx', payer })
    await harness.confirm()
    const stolen = await harness.record(hash('tx'))
    assert.deepEqual([stolen.status, stolen.message], ['unlinked', 'payer_not_linked'])
    assert.equal(await harness.balance(MALLORY_KEY), 0n)
    await harness.claim({ tx: 'tx' })
    await harness.pass()
    assert.equal(await harness.balance(ALICE_KEY), 1_000_000n)
    assert.equal(await harness.balance(MALLORY_KEY), 0n)
  },
)

withPayments(
  'A1: payerAddress must name the sender, and naming him proves nothing',
  async (harness) => {
    harness.pay('tx', 1_000_000n)
    await harness.claim({ key: ALICE_KEY, tx: 'tx', payer: mallory })
    await harness.confirm()
    assert.equal((await harness.record(hash('tx'))).status, 'unlinked')
    const again = await harness.claim({ tx: 'tx' })
    assert.equal(codeOf(again), 200)
    await harness.pass()
    assert.equal(await harness.balance(ALICE_KEY), 1_000_000n)
  },
)

withPayments(
  'A2: a stranger who claims first does not stand in the way of the owner',
  async (harness) => {
    await harness.claim({ key: MALLORY_KEY, tx: 'tx', payer: mallory })
    await harness.claim({ key: ALICE_KEY, tx: 'tx', payer: mallory })
    assert.equal(codeOf(await harness.claim({ tx: 'tx' })), 200)
    await harness.claim({ key: ALICE_KEY, tx: 'tx', payer: mallory })
    harness.pay('tx', 1_000_000n)
    await harness.confirm()
    assert.equal(await harness.balance(ALICE_KEY), 1_000_000n)
    assert.equal((await harness.record(hash('tx'))).verified, true)
  },
)

withPayments(
  'A3: only a key of the same wallet may be sent along, and the first claim wins',
  async (harness) => {
    const claim = { tx: 'tx', payer: alice }
    assert.equal(
      codeOf(await harness.claim({ ...claim, key: ALICE_KEY, as: MALLORY_KEY })),
      'not_key_owner',
    )
    assert.equal(codeOf(await harness.claim({ ...claim, key: ALICE_KEY, as: ALICE_KEY_2 })), 201)
    harness.now.ms += 1_000
    const second = claimedOf(await harness.claim({ ...claim, key: ALICE_KEY_2 })).id
    harness.pay('tx', 1_000_000n)
    await harness.confirm()
    assert.equal(await harness.balance(ALICE_KEY), 1_000_000n)
    assert.equal(await harness.balance(ALICE_KEY_2), 0n)
    const lost = await harness.record(second)
    assert.deepEqual([lost.status, lost.message], ['rejected', 'no_matching_transfer'])
  },
)

withPayments(
  'A4, A5, A6, A8, A9: what the index does not show as a deposit is never credited',
  async (harness) => {
    await harness.claim({ tx: 'fake token, wrong recipient, other chain, plain ether, failed' })
    await harness.confirm()
    const record = await harness.record(
      hash('fake token, wrong recipient, other chain, plain ether, failed'),
    )
    assert.deepEqual([record.status, record.confirmations], ['pending', 0])
    assert.equal(await harness.balance(ALICE_KEY), 0n)
  },
)

withPayments(
  'A7: the sender of the log counts, so money sent through a router is no payment of the owner',
  async (harness) => {
    harness.pay('tx', 1_000_000n, wallet('router'))
    await harness.claim({ tx: 'tx' })
    await harness.confirm()
    assert.equal((await harness.record(hash('tx'))).status, 'unlinked')
    const suspense = await harness.engine.snapshot((reads) => readSuspense(harness.ctx, reads))
    assert.deepEqual(suspense, { deposits: 1, microUsd: 1_000_000n })
  },
)

withPayments(
  'A10: of several transfers in one transaction each goes to its own payer, each once',
  async (harness) => {
    harness.chain.mine([
      { tx: 'tx', from: alice, amount: 100n },
      { tx: 'tx', from: mallory, amount: 20n },
      { tx: 'tx', from: alice, amount: 3n },
    ])
    await harness.claim({ tx: 'tx' })
    await harness.claim({ key: MALLORY_KEY, tx: 'tx', payer: mallory })
    await harness.confirm()
    await harness.pass()
    assert.equal(await harness.balance(ALICE_KEY), 103n)
    assert.equal(await harness.balance(MALLORY_KEY), 20n)
  },
)

withPayments(
  'A11: the amount is checked, is a hint, and the chain sets it right',
  async (harness) => {
    const claim = { key: ALICE_KEY, tx: 'tx', payer: alice }
    for (const amountUsd of [0, -1, Number.POSITIVE_INFINITY, Number.NaN, 1e9 + 1, '1', false, [1]])
      assert.equal(
        codeOf(await harness.claim({ ...claim, amountUsd })),
        'invalid_body',
        String(amountUsd),
      )
    assert.equal(codeOf(await harness.claim({ ...claim, amountUsd: 1e9 })), 201)
    harness.pay('tx', 1n)
    await harness.confirm()
    assert.equal((await harness.record(hash('tx'))).amountUsd, 0.000001)
    assert.equal(await harness.balance(ALICE_KEY), 1n)
  },
)

withPayments(
  'A12, A13: every deposit of a micro-USD or more is credited once claimed',
  async (harness) => {
    await harness.credit('dust', 1n)
    assert.equal(await harness.balance(ALICE_KEY), 1n)
  },
)

withPayments(
  'A14: claims at once, on two replicas and by two keys, credit a transfer once',
  async (harness, store) => {
    const { chain } = harness
    const replica = await createHarness(store.replica(), { chain })
    chain.mine([{ tx: 'tx', from: alice, amount: 1_000_000n }])
    chain.mineEmpty(10)
    const outcomes = await Promise.all(
      Array.from({ length: 12 }, (_, n) =>
        (n % 2 === 0 ? harness : replica).claim({
          key: n % 3 === 0 ? ALICE_KEY_2 : ALICE_KEY,
          tx: 'tx',
          payer: alice,
        }),
      ),
    )
    assert.equal(outcomes.filter((each) => codeOf(each) === 201).length, 2)
    assert.equal(outcomes.filter((each) => codeOf(each) === 200).length, 10)
    assert.equal(new Set(outcomes.map((each) => claimedOf(each).id)).size, 2)
    const passes = await Promise.all([
      harness.pass(),
      replica.pass(),
      harness.pass(),
      replica.pass(),
    ])
    assert.ok(passes.some(({ credited }) => credited > 0))
    const balances = [await harness.balance(ALICE_KEY), await harness.balance(ALICE_KEY_2)]
    assert.deepEqual(balances.sort(), [0n, 1_000_000n])
  },
)

withPayments(
  'A14: posting the same claim again gives the same record and changes nothing',
  async (harness) => {
    const first = await harness.claim({ tx: 'tx' })
    harness.now.ms += 5_000
    const upper = `0x${hash('tx').slice(2).toUpperCase()}`
    const again = await harness.claim({
      key: ALICE_KEY,
      tx: 'tx',
      payer: alice,
      amountUsd: 7,
      more: { txHash: upper },
    })
    assert.deepEqual([codeOf(first), codeOf(again)], [201, 200])
    assert.deepEqual(again.kind === 'answer' && again.body, first.kind === 'answer' && first.body)
    harness.pay('tx', 1_000_000n)
    await harness.confirm()
    assert.equal(codeOf(await harness.claim({ tx: 'tx' })), 200)
    await harness.pass()
    assert.equal(await harness.balance(ALICE_KEY), 1_000_000n)
  },
)

withPayments(
  'A15: an unknown hash expires after a day, and posting it again reopens it',
  async (harness) => {
    const id = claimedOf(await harness.claim({ tx: 'tx' })).id
    await harness.pass()
    harness.now.ms += DAY_SECONDS * 1000
    await harness.pass()
    assert.equal((await harness.record(id)).message, 'expired')
    const again = claimedOf(await harness.claim({ tx: 'tx' }))
    assert.deepEqual([again.id, again.status], [id, 'pending'])
    harness.pay('tx', 1_000_000n)
    await harness.confirm()
    assert.equal((await harness.record(id)).status, 'verified')
  },
)

withPayments('A15: claims of strangers take no place of the owner', async (harness) => {
  const owner = { key: ALICE_KEY, tx: 'own', payer: alice, as: ALICE_KEY }
  assert.equal(codeOf(await harness.claim(owner)), 201)
  for (let n = 0; n <= 20; n += 1) {
    assert.equal(codeOf(await harness.claim({ tx: `random ${n}` })), 201)
    harness.now.ms += 1_000
  }
  for (const tx of ['random 0', 'random 1', 'own'])
    assert.equal((await harness.record(hash(tx))).status, 'pending')
})

withPayments('A16: a transfer may be claimed long after it was made', async (harness) => {
  harness.pay('replacement', 1_000_000n)
  harness.chain.mineEmpty(5_000)
  await harness.pass()
  await harness.claim({ tx: 'replacement' })
  await harness.pass()
  assert.equal(await harness.balance(ALICE_KEY), 1_000_000n)
})

withPayments(
  'A17: a credit whose block leaves the chain is taken back, never below zero',
  async (harness) => {
    harness.pay('tx', 1_000n)
    const id = claimedOf(await harness.claim({ tx: 'tx' })).id
    await harness.confirm()
    await harness.spend(ALICE_KEY, 4)
    harness.chain.drop(11)
    harness.chain.mineEmpty(12)
    await harness.pass()
    const record = await harness.record(id)
    assert.deepEqual(
      [record.status, record.message, record.verified, record.creditedUsd],
      ['reversed', 'reverted_by_reorg', false, null],
    )
    assert.equal(await harness.balance(ALICE_KEY), 0n)
    assert.deepEqual(await harness.audit(), [])
    await harness.credit('next', 1_000n)
    assert.equal(await harness.balance(ALICE_KEY), 600n)
  },
)

withPayments(
  'A18: a transaction mined again with another log index is credited again, once',
  async (harness) => {
    harness.pay('tx', 1_000_000n)
    const id = claimedOf(await harness.claim({ tx: 'tx' })).id
    await harness.confirm()
    harness.chain.drop(11)
    harness.chain.mine()
    harness.chain.mine([{ tx: 'tx', from: alice, amount: 1_000_000n, logIndex: 7 }])
    harness.chain.mineEmpty(10)
    await harness.pass()
    await harness.pass()
    assert.equal((await harness.record(id)).status, 'verified')
    assert.equal(await harness.balance(ALICE_KEY), 1_000_000n)
    const credits = await harness.engine.read(sql`
    select log_index from credits where reversed_unix is null`)
    assert.deepEqual(
      credits.map((row) => row.log_index),
      [7],
    )
  },
)

withPayments(
  'two deposits of one block with the same log index, on a chain that numbers logs per transaction, are credited once each',
  async (harness) => {
    const { chain, engine } = harness
    const transfer = { from: alice, amount: 1_000_000n, logIndex: 0 }
    chain.mine(['tx', 'other'].map((tx) => ({ ...transfer, tx })))
    await harness.claim({ tx: 'tx' })
    await harness.confirm()
    const suspense = await engine.snapshot((reads) => readSuspense(harness.ctx, reads))
    assert.deepEqual(suspense, { deposits: 1, microUsd: 1_000_000n })
    await harness.claim({ tx: 'other' })
    for (let pass = 0; pass < 2; pass += 1) await harness.pass()
    for (const tx of ['tx', 'other'])
      assert.equal((await harness.record(hash(tx))).status, 'verified')
    assert.equal(await harness.balance(ALICE_KEY), 2_000_000n)
    assert.deepEqual(await harness.audit(), [])
    chain.drop(11)
    chain.mine([{ ...transfer, tx: 'other' }])
    await harness.confirm()
    assert.equal(await harness.balance(ALICE_KEY), 1_000_000n)
  },
)
