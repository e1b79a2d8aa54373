import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type EventQuery, listEvents } from '#indexer/events/list-events.ts'
import { sumTotals } from '#indexer/events/sum-windows.ts'
import { onSqlite } from '#ledger/each-engine.ts'
import type { Connection } from '#store/engine.ts'
import { join, sql } from '#store/sql.ts'
import { registerMigrations } from './datasets.ts'
import { readLeaderboard } from './grave-digs/queries.ts'
import { firstSupplyDay, readSupplyDays, readTotalSupply } from './holders/queries.ts'

const list = (filters: Partial<EventQuery>) => (connection: Connection) =>
  listEvents(connection, { dataset: 'burns', limit: 20, chainIds: [1, 8453], ...filters })
const after = { timestamp: 9, chainId: 1, blockNumber: 9, logIndex: 0 }

type Lookups = readonly (readonly [string, (connection: Connection) => Promise<unknown>, RegExp])[]

/** Questions of the endpoints, and by what each is looked up: by all that narrows it down. */
const LOOKUPS: Lookups = [
  ['all events', list({}), /^SEARCH events USING INDEX events_newest \(dataset=\?\)$/],
  [
    'further events',
    list({ after }),
    /INDEX events_newest \(dataset=\? AND \(timestamp_unix,chain_id,block_number,log_index\)<\(\?,\?,\?,\?\)\)$/,
  ],
  [
    'events of a token',
    list({ token: 'GRAVE' }),
    /INDEX events_of_token_and_chain \(dataset=\? AND token=\? AND chain_id=\?\)$/,
  ],
  [
    'further events of a token',
    list({ token: 'GRAVE', after }),
    /INDEX events_of_token_and_chain \(dataset=\? AND token=\? AND chain_id=\? AND .*timestamp_unix.*<.*\)$/,
  ],
  [
    'events of a chain',
    list({ chainId: 1 }),
    /INDEX events_of_chain \(dataset=\? AND chain_id=\?\)$/,
  ],
  [
    'totals',
    (connection) => sumTotals(connection, 'burns'),
    /INDEX event_buckets_by_time \(dataset=\? AND grain=\? AND bucket_unix<\?\)$/,
  ],
  [
    'supply',
    (connection) => readTotalSupply(connection, 'GRAVE'),
    /INDEX supply_buckets_by_time \(token=\? AND grain=\? AND bucket_unix<\?\)$/,
  ],
  [
    'supply of days',
    (connection) => readSupplyDays(connection, 'GRAVE', 86_400),
    /INDEX supply_buckets_by_time \(token=\? AND grain=\? AND bucket_unix>\?\)$/,
  ],
  [
    'the first day of a supply',
    (connection) => firstSupplyDay(connection, 'GRAVE'),
    /INDEX supply_buckets_by_time \(token=\? AND grain=\?\)$/,
  ],
  [
    'the leaderboard',
    (connection) => readLeaderboard(connection, { token: 'GRAVE', limit: 10 }),
    /COVERING INDEX grave_dig_leaders \(token=\?\)$/,
  ],
]

const LOOKUPS_OF_ACCOUNTS: Lookups = [
  [
    'events of an account',
    list({ account: '0x01' }),
    /INDEX events_of_account \(dataset=\? AND account=\?\)$/,
  ],
  [
    'events of an account and a token',
    list({ account: '0x01', token: 'GRAVE' }),
    /INDEX events_of_account_and_token \(dataset=\? AND account=\? AND token=\?\)$/,
  ],
  [
    'further events of an account and a token on a chain',
    list({ account: '0x01', token: 'GRAVE', chainId: 1, after }),
    /INDEX events_of_account_and_token \(dataset=\? AND account=\? AND token=\? AND \(timestamp_unix,chain_id,block_number,log_index\)<.*\)$/,
  ],
  [
    'events of an account on a chain',
    list({ account: '0x01', chainId: 1 }),
    /INDEX events_of_account_and_chain \(dataset=\? AND account=\? AND chain_id=\?\)$/,
  ],
]

for (const [name, ask, expected] of [...LOOKUPS, ...LOOKUPS_OF_ACCOUNTS])
  test(`SQLite: ${name}: looked up by all that is asked, however long the history is`, async () => {
    await onSqlite(registerMigrations, async ({ engine }) => {
      const plan: string[] = []
      await engine.snapshot((connection) =>
        ask({
          ...connection,
          async run(statement) {
            const steps = await connection.run(join([sql`explain query plan`, statement], ' '))
            plan.push(...steps.map(({ detail }) => String(detail)))
            return []
          },
        }),
      )
      const lookups = plan.filter((detail) => /^(SEARCH|SCAN) (?!of_chain)/.test(detail))
      assert.ok(lookups.length > 0)
      for (const lookup of lookups) assert.match(lookup, expected)
    })
  })
