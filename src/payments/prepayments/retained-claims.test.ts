import assert from 'node:assert/strict'
import { DAY_SECONDS, unixNow } from '#base/time.ts'
import { sql } from '#db/sql.ts'
import { createPruning } from '#index/retained.ts'
import { RETAINED_CLAIMS } from '#payments/prepayments/claim.ts'
import { hash } from '#test/payments/fake-chain.ts'
import {
  ALICE_KEY,
  ALICE_KEY_2,
  audited,
  codeOf,
  HARNESS_MIGRATIONS,
  type Harness,
  wallet,
} from '#test/payments/payments-harness.ts'
import { startPostgres } from '#test/postgres.ts'
import { eachEngine } from '#test/store/each-engine.ts'

const withPayments = audited(eachEngine(startPostgres, HARNESS_MIGRATIONS))

const friend = wallet('friend')

const afterDays = async (harness: Harness, days: number) => {
  harness.now.ms += days * DAY_SECONDS * 1000
  await harness.pass()
  const nowUnix = unixNow(() => harness.now.ms)
  await createPruning([RETAINED_CLAIMS])({ engine: harness.engine, nowUnix })
}

const stored = async ({ engine }: Harness) => {
  const claims = await engine.read(sql`select tx_hash from claims order by tx_hash`)
  const proofs = await engine.read(sql`select claim_id from claim_proofs`)
  return [claims.map((row) => row.tx_hash), proofs.length]
}

withPayments(
  'a prepayment without money is forgotten after 35 days, with its proofs',
  async (harness) => {
    harness.pay('unlinked', 5n, wallet('router'))
    await harness.claimProven('never mined', friend)
    await harness.claim({ tx: 'unlinked' })
    harness.pay('paid', 70n, friend)
    await harness.claimProven('paid', friend)
    await harness.claim({ key: ALICE_KEY_2, tx: 'paid', payer: friend })
    await harness.confirm()
    await afterDays(harness, 34)
    assert.equal((await harness.record(hash('never mined'))).status, 'expired')
    assert.equal((await harness.record(hash('unlinked'))).status, 'unlinked')
    await afterDays(harness, 1)
    assert.deepEqual(await stored(harness), [[hash('paid')], 1])
    assert.equal((await harness.record(hash('paid'))).status, 'verified')
    assert.equal(codeOf(await harness.read(hash('unlinked'))), 'prepayment_not_found')
    assert.equal(codeOf(await harness.claimProven('never mined', friend)), 201)
    harness.pay('never mined', 30n, friend)
    await harness.confirm()
    assert.equal(await harness.balance(ALICE_KEY), 100n)
  },
)

withPayments('a prepayment that held money is never forgotten', async (harness) => {
  await harness.credit('reversed', 5n)
  harness.chain.drop(11)
  harness.chain.mineEmpty(12)
  await harness.pass()
  await afterDays(harness, 100)
  assert.equal((await harness.record(hash('reversed'))).status, 'reversed')
})
