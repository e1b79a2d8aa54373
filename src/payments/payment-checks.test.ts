import assert from 'node:assert/strict'
import { ledgerGuards } from '#accounts/ledger/ledger-tables.ts'
import { ConstraintError } from '#db/engine.ts'
import { type Sql, sql } from '#db/sql.ts'
import { readSuspense } from '#payments/money-checks.ts'
import { paymentsGuards } from '#payments/prepayments/payments-tables.ts'
import {
  ALICE_KEY_2,
  createHarness,
  HARNESS_MIGRATIONS,
  type Harness,
  MALLORY_KEY,
  mallory,
} from '#test/payments/payments-harness.ts'
import { startPostgres } from '#test/postgres.ts'
import { eachEngine, unguarded } from '#test/store/each-engine.ts'

const onBoth = eachEngine(startPostgres, HARNESS_MIGRATIONS)

/** One credited deposit, one that was taken back, one that is nobody's, and a claim without money. */
async function createStore(harness: Harness): Promise<void> {
  await harness.claim({ tx: 'lost', key: ALICE_KEY_2 })
  harness.pay('lost', 700n)
  await harness.confirm()
  harness.chain.drop(11)
  await harness.pass()
  await harness.claim({ tx: 'tx' })
  harness.pay('tx', 1_000n)
  harness.pay('unclaimed', 5n)
  await harness.claim({ tx: 'never' })
  await harness.confirm()
}

const CORRUPTIONS: Record<string, Sql> = {
  'each credit has its ledger entry, and a reversed one its reversal': sql`
    update credits set micro_usd = micro_usd + 1`,
  'what came in from the chains is what live credits hold': sql`
    update credits set reversed_unix = 1 where reversed_unix is null`,
  'every credit or reversal entry belongs to a credit': sql`
    delete from credits where reversed_unix is null`,
  'a claim says that it held money exactly if it was ever credited': sql`
    update claims set was_credited = 0 where was_credited = 1`,
  'each live credit is one canonical deposit of the same sum and sender': sql`
    update credits set log_index = log_index + 1`,
  'each credit of a claim was paid by the owner of its key or a payer who signed': sql`
    update credits set payer_address = ${mallory}`,
  'a credit of a claim is on a key of the wallet that owns the claimed key': sql`
    update claims set public_id = '00000000'`,
  'a credit and its reversal move money of keys of its wallet only': sql`
    insert into postings (entry_id, line, account, micro_usd)
    select 'credit:' || id, 9, ${`key:${MALLORY_KEY}`}, 1 from credits`,
}

for (const [name, statement] of Object.entries(CORRUPTIONS))
  onBoth(`the audit notices a broken promise: ${name}`, async ({ engine }) => {
    const harness = await createHarness(engine)
    await createStore(harness)
    assert.deepEqual(await harness.audit(), [])
    const guards = [...paymentsGuards, ...ledgerGuards]
    const tables = ['x402_intents', 'credits', 'claim_proofs', 'claims', 'postings']
    await unguarded(engine, { guards, tables }, async (tx) => {
      await tx.run(statement)
    })
    assert.ok((await harness.audit()).includes(name))
  })

onBoth('every promise of prepayments has a corruption that breaks it', async ({ engine }) => {
  const { checkNames } = await createHarness(engine)
  const ofPrepayments = checkNames.filter((name) => !name.includes('x402'))
  assert.deepEqual(ofPrepayments.sort(), Object.keys(CORRUPTIONS).sort())
})

onBoth('deposits that nobody claimed are counted and summed', async ({ engine }) => {
  const harness = await createHarness(engine)
  await createStore(harness)
  const suspense = await engine.snapshot((reads) => readSuspense(harness.ctx, reads))
  assert.deepEqual(suspense, { deposits: 1, microUsd: 5n })
})

onBoth('the database itself refuses what would falsify a prepayment', async ({ engine }) => {
  const harness = await createHarness(engine)
  await createStore(harness)
  for (const change of [
    sql`update claims set tx_hash = '0x'`,
    sql`update claims set was_credited = 0`,
    sql`delete from claims where was_credited = 1`,
    sql`update credits set micro_usd = micro_usd + 1`,
    sql`update credits set reversed_unix = ${null} where reversed_unix is not null`,
    sql`delete from credits`,
  ])
    await assert.rejects(
      engine.write((tx) => tx.run(change)),
      ConstraintError,
      change.parts[0],
    )
})
