import assert from 'node:assert/strict'
import { DAY_SECONDS } from '#base/time.ts'
import { plain } from '#db/sql.ts'
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
  type Harness,
  mallory,
  wallet,
} from '#test/payments/payments-harness.ts'
import { startPostgres } from '#test/postgres.ts'
import { eachEngine } from '#test/store/each-engine.ts'

const onBoth = eachEngine(startPostgres, HARNESS_MIGRATIONS)
const withPayments = audited(onBoth)

const flood = async (harness: Harness, name: string) => {
  for (let n = 0; n < 25; n += 1) {
    assert.equal(codeOf(await harness.claim({ tx: `plain ${name} ${n}` })), 201)
    assert.equal(
      codeOf(await harness.claimProven(`proof ${name} ${n}`, wallet(`throwaway ${n}`))),
      201,
    )
    harness.now.ms += 1_000
  }
}

withPayments(
  'strangers who flood a key with claims, signed or not, keep nobody from topping it up',
  async (harness) => {
    await flood(harness, 'before')
    assert.equal(codeOf(await harness.claim({ tx: 'as owner', as: ALICE_KEY })), 201)
    assert.equal(codeOf(await harness.claim({ tx: 'plain' })), 201)
    assert.equal(codeOf(await harness.claimProven('signed', wallet('friend'))), 201)
    await flood(harness, 'after')
    for (const tx of ['as owner', 'plain']) harness.pay(tx)
    harness.pay('signed', 1_000_000n, wallet('friend'))
    await harness.confirm()
    assert.equal(await harness.balance(ALICE_KEY), 3_000_000n)
  },
)

withPayments(
  'the key that its owner names with a key of hers gets the money, whoever named another first',
  async (harness) => {
    await harness.claim({ tx: 'tx' })
    await harness.claimProven('tx', wallet('throwaway'))
    harness.now.ms += 1_000
    await harness.claim({ tx: 'tx', key: ALICE_KEY_2, as: ALICE_KEY_2 })
    harness.pay('tx')
    await harness.confirm()
    assert.equal(await harness.balance(ALICE_KEY), 0n)
    assert.equal(await harness.balance(ALICE_KEY_2), 1_000_000n)
  },
)

withPayments(
  'a claim that the payer signed comes before one that nobody stands behind',
  async (harness) => {
    await harness.claim({ tx: 'tx', key: ALICE_KEY_2 })
    harness.now.ms += 1_000
    await harness.claimProven('tx', alice)
    harness.pay('tx')
    await harness.confirm()
    assert.equal(await harness.balance(ALICE_KEY), 1_000_000n)
    assert.equal(await harness.balance(ALICE_KEY_2), 0n)
  },
)

withPayments(
  "what a stranger posts neither shows on the owner's record nor prolongs it",
  async (harness) => {
    const own = claimedOf(await harness.claim({ tx: 'tx', as: ALICE_KEY }))
    harness.now.ms += (DAY_SECONDS * 1000) / 2
    const after = claimedOf(await harness.claimProven('tx', wallet('throwaway')))
    assert.deepEqual(after, own)
    await harness.claim({ key: 'ba5ed001', tx: 'tx', payer: mallory })
    assert.equal((await harness.record(hash('tx'))).id, own.id)
    harness.now.ms += (DAY_SECONDS * 1000) / 2
    await harness.pass()
    assert.equal((await harness.record(own.id)).status, 'expired')
  },
)

withPayments(
  'a second payer of a verified transaction is credited once he signs',
  async (harness) => {
    const friend = wallet('friend')
    harness.chain.mine([
      { tx: 'tx', from: alice, amount: 100n },
      { tx: 'tx', from: friend, amount: 20n },
    ])
    await harness.claim({ tx: 'tx' })
    await harness.confirm()
    assert.equal(await harness.balance(ALICE_KEY), 100n)
    assert.equal(claimedOf(await harness.claimProven('tx', wallet('friend'))).status, 'verified')
    await harness.pass()
    await harness.pass()
    assert.equal(await harness.balance(ALICE_KEY), 120n)
    assert.equal((await harness.record(hash('tx'))).creditedUsd, 0.00012)
  },
)

withPayments(
  'a claim that ended without money is judged anew when it is posted again',
  async (harness) => {
    harness.pay('tx', 1n, mallory)
    await harness.claim({ tx: 'tx' })
    await harness.confirm()
    assert.equal((await harness.record(hash('tx'))).status, 'unlinked')
    harness.chain.drop(11)
    harness.pay('tx')
    harness.chain.mineEmpty(10)
    assert.equal(claimedOf(await harness.claim({ tx: 'tx' })).status, 'confirming')
    await harness.pass()
    assert.equal(await harness.balance(ALICE_KEY), 1_000_000n)
  },
)

withPayments(
  'a claim whose deposit came while nobody verified is credited, however late',
  async (harness) => {
    await harness.claim({ tx: 'tx' })
    harness.pay('tx')
    harness.chain.mineEmpty(5_000)
    harness.now.ms += 3 * DAY_SECONDS * 1000
    await harness.pass()
    assert.equal((await harness.record(hash('tx'))).status, 'verified')
    assert.equal(await harness.balance(ALICE_KEY), 1_000_000n)
  },
)

withPayments('no claim expires while the index is behind', async (harness) => {
  await harness.claim({ tx: 'tx' })
  harness.chain.headUnix = harness.now.ms / 1000
  harness.now.ms += 3 * DAY_SECONDS * 1000
  await harness.pass()
  assert.equal((await harness.record(hash('tx'))).status, 'pending')
  harness.pay('tx')
  harness.chain.headUnix = harness.now.ms / 1000
  await harness.confirm()
  assert.equal(await harness.balance(ALICE_KEY), 1_000_000n)
})

withPayments('the sum that is claimed is shown as it was sent', async (harness) => {
  for (const amountUsd of [0.000123, 1.005, 4.35, 8.2, 16.4, 64.1]) {
    const tx = String(amountUsd)
    assert.equal(
      claimedOf(await harness.claim({ key: ALICE_KEY, tx, payer: alice, amountUsd })).amountUsd,
      amountUsd,
    )
  }
  const least = { key: ALICE_KEY, tx: 'least', payer: alice, amountUsd: 1e-9 }
  assert.equal(claimedOf(await harness.claim(least)).amountUsd, 0.000001)
})

onBoth('a claim that fails does not keep the others from their money', async ({ engine }) => {
  const harness = await createHarness(engine)
  await harness.claim({ tx: 'broken' })
  harness.now.ms += 1_000
  await harness.claim({ tx: 'good', key: ALICE_KEY_2 })
  await engine.write((tx) =>
    tx.run(
      plain(
        `insert into balances (account, micro_usd) values ('key:${ALICE_KEY}', 9007199254740000)`,
      ),
    ),
  )
  harness.chain.mine([
    { tx: 'broken', from: alice, amount: 1_000_000n },
    { tx: 'good', from: alice, amount: 1_000_000n },
  ])
  await assert.rejects(harness.confirm(), AggregateError)
  assert.equal(await harness.balance(ALICE_KEY_2), 1_000_000n)
})
