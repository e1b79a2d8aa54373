import assert from 'node:assert/strict'
import { DAY_SECONDS, HOUR_SECONDS } from '#base/time.ts'
import { hash } from '#test/payments/fake-chain.ts'
import {
  ALICE_KEY,
  ALICE_KEY_2,
  alice,
  audited,
  codeOf,
  HARNESS_MIGRATIONS,
  type Harness,
  mallory,
} from '#test/payments/payments-harness.ts'
import { startPostgres } from '#test/postgres.ts'
import { eachEngine } from '#test/store/each-engine.ts'

const withPayments = audited(eachEngine(startPostgres, HARNESS_MIGRATIONS))

const flood = async (harness: Harness) => {
  for (let n = 0; n < 25; n += 1) {
    harness.now.ms += 1_000
    const junk = await harness.claim({ key: ALICE_KEY, tx: `junk ${n}`, payer: mallory })
    assert.equal(codeOf(junk), 201)
  }
}

const statusOf = async (harness: Harness, tx: string) => (await harness.record(hash(tx))).status

withPayments(
  'a claim among a flood of others is pending, and credited however deep its deposit is',
  async (harness) => {
    await harness.claim({ tx: 'tx' })
    await flood(harness)
    assert.equal(await statusOf(harness, 'tx'), 'pending')
    harness.pay('tx')
    harness.chain.mineEmpty(2_100)
    await harness.pass()
    assert.equal(await statusOf(harness, 'tx'), 'verified')
    assert.equal(await harness.balance(ALICE_KEY), 1_000_000n)
  },
)

withPayments(
  'a claim among a flood of others outlives an index that is away for more than a day',
  async (harness) => {
    await harness.claim({ tx: 'tx' })
    await harness.claim({ tx: 'other', key: ALICE_KEY_2 })
    await flood(harness)
    harness.chain.headUnix = harness.now.ms / 1000 + 60
    harness.now.ms += 25 * HOUR_SECONDS * 1000
    await harness.pass()
    harness.chain.mine(['tx', 'other'].map((tx) => ({ tx, from: alice, amount: 1_000_000n })))
    await harness.confirm()
    assert.equal(await harness.balance(ALICE_KEY_2), 1_000_000n)
    assert.equal(await harness.balance(ALICE_KEY), 1_000_000n)
  },
)

withPayments('a claim among a flood of others still expires after its day', async (harness) => {
  await harness.claim({ tx: 'tx' })
  await flood(harness)
  harness.now.ms += DAY_SECONDS * 1000
  await harness.pass()
  assert.equal(await statusOf(harness, 'tx'), 'expired')
  await harness.claim({ tx: 'tx' })
  assert.equal(await statusOf(harness, 'tx'), 'pending')
})
