import assert from 'node:assert/strict'
import { ledgerChecks } from '#accounts/ledger/check.ts'
import { ledgerGuards } from '#accounts/ledger/ledger-tables.ts'
import type { Engine } from '#db/engine.ts'
import { type Sql, sql } from '#db/sql.ts'
import { accountsMigrations } from '#main/stores.ts'
import { paymentsGuards } from '#payments/prepayments/payments-tables.ts'
import { x402Guards } from '#payments/x402/payment.ts'
import { startPostgres } from '#test/postgres.ts'
import { eachEngine, unguarded } from '#test/store/each-engine.ts'
import { brokenPromises, depositOf, NOON_UNIX, newPayment, word } from '#test/x402/x402-harness.ts'
import { failPayment, insertPayment } from './x402/payment.ts'
import { creditPayment } from './x402/settle-payment.ts'

const onBoth = eachEngine(startPostgres, accountsMigrations)

const NOW_MS = NOON_UNIX * 1000

/** Payments 1 and 2 are settled, 3 has failed, 4 and 5 are on their way. */
async function livedIn(engine: Engine): Promise<void> {
  for (const n of [1, 2, 3, 4, 5]) {
    const payment = newPayment(n)
    const { id } = payment
    await engine.write((tx) => insertPayment(tx, payment))
    if (n === 3) await engine.write((tx) => failPayment(tx, id))
    if (n > 2) continue
    const deposit = { ...depositOf(payment.authorization, n), txHash: word(999 + n) }
    await engine.write((tx) => creditPayment(tx, { clock: () => NOW_MS }, id, deposit, true))
  }
}

onBoth('a store in which payments were settled breaks no promise', async ({ engine }) => {
  await livedIn(engine)
  assert.deepEqual(await brokenPromises(engine), [])
  for (const check of ledgerChecks) assert.deepEqual(await engine.snapshot(check.run), [])
})

const ONE_LIVE =
  'a settled x402 payment has one live credit, of its transaction, its payer and its sum'
const OF_ONE = 'every live credit without a claim is of one settled x402 payment'

const CORRUPTIONS: readonly {
  readonly what: string
  readonly statement: Sql
  readonly found: readonly string[]
}[] = [
  {
    what: 'a settled payment of another sum than its credit',
    statement: sql`update x402_intents set micro_usd = 90000 where id = 'payment-1'`,
    found: [ONE_LIVE],
  },
  {
    what: 'a settled payment of another payer than its credit',
    statement: sql`update x402_intents set payer = ${`0x${'dd'.repeat(20)}`} where id = 'payment-1'`,
    found: [ONE_LIVE],
  },
  {
    what: 'a settled payment with the transaction of another one',
    statement: sql`update x402_intents set tx_hash = ${word(7)} where id = 'payment-1'`,
    found: [ONE_LIVE],
  },
  {
    what: 'a settled payment without a credit',
    statement: sql`update x402_intents set credit_id = null, served = 0 where id = 'payment-1'`,
    found: [ONE_LIVE, OF_ONE],
  },
  {
    what: 'a settled payment whose credit was reversed',
    statement: sql`update credits set reversed_unix = 1 where tx_hash = ${word(1_000)}`,
    found: [ONE_LIVE],
  },
  {
    what: 'two payments of one credit',
    statement: sql`update x402_intents set tx_hash = ${word(1_000)}, status = 'credited',
      credit_id = (select id from credits where tx_hash = ${word(1_000)}) where id = 'payment-3'`,
    found: [OF_ONE, 'an x402 payment is credited where it said'],
  },
  {
    what: 'a credit without a payment',
    statement: sql`delete from x402_intents where id = 'payment-1'`,
    found: [OF_ONE],
  },
  {
    what: 'a payment that is credited to somebody else',
    statement: sql`update x402_intents set payee = '192.0.2.99' where id = 'payment-1'`,
    found: ['an x402 payment is credited where it said'],
  },
  {
    what: 'a failed payment with a live credit',
    statement: sql`update x402_intents set status = 'failed' where id = 'payment-1'`,
    found: [OF_ONE],
  },
  {
    what: 'a payment that is settled without its transaction',
    statement: sql`update x402_intents set tx_hash = null where id = 'payment-1'`,
    found: [ONE_LIVE],
  },
]

for (const { what, statement, found } of CORRUPTIONS)
  onBoth(`the audit finds ${what}`, async ({ engine }) => {
    await livedIn(engine)
    const guards = [...ledgerGuards, ...paymentsGuards, ...x402Guards]
    const tables = ['x402_intents', 'credits', 'postings']
    await unguarded(engine, { guards, tables }, async (tx) => {
      await tx.run(statement)
    })
    assert.deepEqual(await brokenPromises(engine), found)
  })
