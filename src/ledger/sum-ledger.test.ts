import assert from 'node:assert/strict'
import { rows, sql } from '#store/sql.ts'
import { startPostgres } from '#test/postgres.ts'
import { eachEngine, unguarded } from '#test/store/each-engine.ts'
import { chainInAccount, keyAccount } from './account.ts'
import { ledgerGuards } from './ledger-guards.ts'
import { ledgerMigrations } from './ledger-migrations.ts'
import { post } from './post.ts'
import { sumLedger } from './sum-ledger.ts'

const onEachEngine = eachEngine(startPostgres, ledgerMigrations)

onEachEngine(
  'made money and negative balances are found on every page of the ledger',
  async ({ engine }) => {
    const names = Array.from({ length: 2_100 }, (_, index) => String(index))
    await engine.write(async (tx) => {
      for (const name of names)
        await post(tx, {
          id: `e${name}`,
          kind: 'credit',
          reference: name,
          createdUnix: 1,
          postings: [
            { account: chainInAccount(1), microUsd: -5n },
            { account: keyAccount(name), microUsd: 5n },
          ],
        })
    })
    assert.deepEqual(await sumLedger(engine), { postings: 0n, negative: 0 })
    const tables = ['postings', 'balances', 'journal_entries', 'spend_days']
    await unguarded(engine, { guards: ledgerGuards, tables }, async (tx) => {
      const made = ['e0', 'e999', 'e2099'].map((id) => [id, 7, keyAccount('0'), 3n])
      await tx.run(sql`
      insert into postings (entry_id, line, account, micro_usd) values ${rows(made)}`)
      await tx.run(sql`
      update balances set micro_usd = -1 where account in (${keyAccount('0')}, ${keyAccount('999')})`)
    })
    assert.deepEqual(await sumLedger(engine), { postings: 9n, negative: 2 })
  },
)
