import assert from 'node:assert/strict'
import { eachEngine } from '#ledger/each-engine.ts'
import { DAY_SECONDS } from '#lib/day.ts'
import { sql } from '#store/sql.ts'
import { startPostgres } from '#test/postgres.ts'
import {
  ALICE_KEY,
  ALICE_KEY_2,
  alice,
  codeOf,
  createHarness,
  HARNESS_MIGRATIONS,
  type Harness,
  hash,
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

const friend = wallet('friend')

const proven = (harness: Harness, tx: string) =>
  harness.claim({ key: ALICE_KEY, tx, payer: friend, more: proofOf(friend, tx, ALICE_KEY) })

const afterDays = async (harness: Harness, days: number) => {
  harness.now.ms += days * DAY_SECONDS * 1000
  await harness.pass()
}

const stored = async ({ engine }: Harness) => {
  const claims = await engine.read(sql`select tx_hash from claims order by tx_hash`)
  const proofs = await engine.read(sql`select claim_id from claim_proofs`)
  return [claims.map((row) => row.tx_hash), proofs.length]
}

withPayments(
  'a prepayment that ended without money is forgotten after 35 days, with its proofs',
  async (harness) => {
    harness.chain.mine([{ tx: 'unlinked', from: wallet('router'), amount: 5n }])
    await proven(harness, 'never mined')
    await harness.claim({ key: ALICE_KEY, tx: 'unlinked', payer: alice })
    harness.chain.mine([{ tx: 'paid', from: friend, amount: 70n }])
    await proven(harness, 'paid')
    await harness.claim({ key: ALICE_KEY_2, tx: 'paid', payer: friend })
    await harness.confirm()
    await afterDays(harness, 34)
    assert.equal((await harness.record(hash('never mined'))).status, 'expired')
    assert.equal((await harness.record(hash('unlinked'))).status, 'unlinked')
    await afterDays(harness, 1)
    assert.deepEqual(await stored(harness), [[hash('paid')], 1])
    assert.equal((await harness.record(hash('paid'))).status, 'verified')
    assert.equal(codeOf(await harness.read(hash('unlinked'))), 'prepayment_not_found')
    assert.equal(codeOf(await proven(harness, 'never mined')), 201)
    harness.chain.mine([{ tx: 'never mined', from: friend, amount: 30n }])
    await harness.confirm()
    assert.equal(await harness.balance(ALICE_KEY), 100n)
  },
)

withPayments(
  'a prepayment that held money or is still looked for is never forgotten',
  async (harness) => {
    harness.chain.mine([{ tx: 'reversed', from: alice, amount: 5n }])
    await harness.claim({ key: ALICE_KEY, tx: 'reversed', payer: alice })
    await harness.confirm()
    harness.chain.drop(11)
    harness.chain.mineEmpty(12)
    await harness.pass()
    await harness.claim({ key: ALICE_KEY, tx: 'awaited', payer: alice })
    harness.chain.headUnix = harness.now.ms / 1000
    await afterDays(harness, 100)
    assert.equal((await harness.record(hash('reversed'))).status, 'reversed')
    assert.equal((await harness.record(hash('awaited'))).status, 'pending')
  },
)
