import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { registerMigrations } from '#data/datasets.ts'
import { type EventQuery, listEvents } from '#data/event-lists.ts'
import { openPostgres } from '#db/postgres/open-postgres.ts'
import { join, sql } from '#db/sql.ts'
import { startPostgres } from '#test/postgres.ts'

const server = await startPostgres()
after(() => server.stop())
const engine = openPostgres({ url: await server.createDatabase(), schema: 'register' })
after(() => engine.close())
await engine.migrate(registerMigrations)

const account = `0x${'ab'.repeat(20)}` as const
await engine.write(async (tx) => {
  await tx.run(sql`alter table events set (autovacuum_enabled = false)`)
  await tx.run(sql`
    insert into events (dataset, chain_id, block_number, place, block_hash, tx_hash, timestamp_unix,
      kind, token, account, amount, counted, valued)
    select 'dividends', 1 + n % 2, n, 0, md5('block' || n), md5('tx' || n), n, 'claim',
      case when n < 30 then 'RARE' else 'GRAVE' end,
      case when n % 3 = 0 then md5('account' || n) else ${account} end, '1', 1, 1
    from generate_series(1, 50000) as numbers (n)`)
})

const questions: readonly (readonly [string, Partial<EventQuery>, string])[] = [
  ['the newest of a token', { token: 'GRAVE' }, 'events_of_token_and_chain'],
  ['those of a token on a chain', { token: 'GRAVE', chainId: 2 }, 'events_of_token_and_chain'],
  ['those of a chain', { chainId: 1 }, 'events_of_chain'],
  ['those of a wallet', { account }, 'events_of_account'],
  ['claims of a token', { account, token: 'RARE' }, 'events_of_account_and_token'],
  ['claims on a chain', { account, chainId: 1 }, 'events_of_account_and_chain'],
]
for (const [what, filters, index] of questions)
  test(`PostgreSQL: before its first ANALYZE ${what} come in the order of an index`, async () => {
    const plan: string[] = []
    await engine.snapshot((reads) => {
      const explained = {
        ...reads,
        async run(statement: Parameters<typeof reads.run>[0]) {
          const rows = await reads.run(join([sql`explain`, statement], ' '))
          plan.push(...rows.map((row) => String(row['QUERY PLAN'])))
          return []
        },
      }
      const query = { dataset: 'dividends', limit: 20, chainIds: [1, 2], ...filters }
      return listEvents(explained, query)
    })
    const text = plan.join('\n')
    assert.match(text, new RegExp(`Index Scan Backward using ${index} on`))
    assert.doesNotMatch(text, /Bitmap|Seq Scan/)
  })
