import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { registerMigrations } from '#data/datasets.ts'
import { openingSince } from '#data/holders/fold-balances.ts'
import { readLargest, readRank, readSeen } from '#data/holders/queries.ts'
import type { Connection } from '#db/engine.ts'
import { openPostgres } from '#db/postgres/open-postgres.ts'
import { join, sql } from '#db/sql.ts'
import { startPostgres } from '#test/postgres.ts'

const server = await startPostgres()
after(() => server.stop())
const engine = openPostgres({ url: await server.createDatabase(), schema: 'register' })
after(() => engine.close())
await engine.migrate(registerMigrations)

await engine.write(async (tx) => {
  for (const table of ['balances', 'holder_totals', 'balance_hours', 'holder_spans'])
    await tx.run({
      kind: 'sql',
      parts: [`alter table ${table} set (autovacuum_enabled = false)`],
      values: [],
    })
  await tx.run(sql`
    insert into balances (token, address, chain_id, balance, since_unix, last_unix)
    select 'GRAVE', '0x' || md5(cast(n as text)) || '00000000', 1, '1006' || (100000 + n), 0, 0
    from generate_series(1, 40000) as numbers (n)`)
  await tx.run(sql`
    insert into holder_totals (token, address, balance) select token, address, balance from balances`)
  await tx.run(sql`
    insert into holder_spans (token, address, chain_id, from_unix, until_unix)
    select token, address, chain_id, 0, 86400 from balances`)
  await tx.run(sql`
    insert into balance_hours (token, address, chain_id, hour_unix, block_number, balance)
    select token, address, chain_id, 3600, 1, balance from balances`)
})

const own = { address: `0x${'ab'.repeat(20)}`, balance: 139_000n } as const
const onBoth = { token: 'GRAVE', chainIds: [1, 2] }
const onOne = { token: 'GRAVE', chainIds: [1] }

const questions: readonly (readonly [
  what: string,
  ask: (reads: Connection) => Promise<unknown>,
  index: RegExp,
])[] = [
  [
    'the largest holders on a chain',
    (reads) => readLargest(reads, onOne, { limit: 20, after: undefined }),
    /Index Only Scan Backward using balances_by_size/,
  ],
  [
    'further holders on all chains',
    (reads) => readLargest(reads, onBoth, { limit: 20, after: own }),
    /Index Only Scan Backward using holder_totals_by_size/,
  ],
  [
    'the rank of a wallet',
    (reads) => readRank(reads, onBoth, { own, leftOut: [] }),
    /Index Only Scan Backward using holder_totals_by_size/,
  ],
  [
    'since when wallets hold',
    (reads) => readSeen(reads, onBoth, [own.address]),
    /Index Scan using balances_pkey[\s\S]*(Index Only Scan|Index Scan) using holder_spans_pkey/,
  ],
  [
    'what a wallet held a month ago',
    (reads) =>
      openingSince({ connection: reads, chainId: 1 }, { ...own, token: 'GRAVE', hourUnix: 0 }),
    /Index Scan using balance_hours_pkey/,
  ],
]
for (const [what, ask, index] of questions)
  test(`PostgreSQL: before its first ANALYZE ${what} costs a look into an index`, async () => {
    const plan: string[] = []
    await engine.snapshot((reads) =>
      ask({
        ...reads,
        async run(statement) {
          const rows = await reads.run(join([sql`explain`, statement], ' '))
          plan.push(...rows.map((row) => String(row['QUERY PLAN'])))
          return []
        },
      }),
    )
    const text = plan.join('\n')
    assert.match(text, index)
    assert.doesNotMatch(text, /Seq Scan/)
  })
