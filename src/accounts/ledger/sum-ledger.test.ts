import assert from 'node:assert/strict'
import { sumLedger } from '#accounts/ledger/check.ts'
import { firstSchema } from '#db/migrate.ts'
import { rows, sql } from '#db/sql.ts'
import { startPostgres } from '#test/postgres.ts'
import { eachEngine, unguarded } from '#test/store/each-engine.ts'
import { chainInAccount, keyAccount } from './account.ts'
import { ledgerGuards, ledgerTables } from './ledger-tables.ts'

const onEachEngine = eachEngine(startPostgres, firstSchema('accounts', ledgerTables))

onEachEngine(
  'made money and negative balances are found on every page of the ledger',
  async ({ engine }) => {
    const names = Array.from({ length: 2_100 }, (_, index) => String(index))
    const entries = names.flatMap((name) => [
      [`e${name}`, 0, chainInAccount(1), -5n],
      [`e${name}`, 1, keyAccount(name), 5n],
    ])
    const balances = names.map((name) => [keyAccount(name), 1, 5n])
    // Past the guards, which refuse what is made below, and take a second for so many entries.
    const tables = ['postings', 'balances', 'journal_entries', 'spend_days']
    await unguarded(engine, { guards: ledgerGuards, tables }, async (tx) => {
      await tx.run(sql`
      insert into postings (entry_id, line, account, micro_usd) values ${rows(entries)}`)
      await tx.run(sql`
      insert into balances (account, prepaid, micro_usd) values
      (${chainInAccount(1)}, 0, -10500), ${rows(balances)}`)
    })
    assert.deepEqual(await sumLedger(engine), { postings: 0n, negative: 0 })
    await engine.write(async (tx) => {
      const made = ['e0', 'e999', 'e2099'].map((id) => [id, 7, keyAccount('0'), 3n])
      await tx.run(sql`
      insert into postings (entry_id, line, account, micro_usd) values ${rows(made)}`)
      await tx.run(sql`
      update balances set micro_usd = -1 where account in (${keyAccount('0')}, ${keyAccount('999')})`)
    })
    assert.deepEqual(await sumLedger(engine), { postings: 9n, negative: 2 })
  },
)
