import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readEventDays, sumTotals } from '#data/events/sums.ts'
import { readLeaderboard } from '#data/grave-digs/endpoints.ts'
import { openingSince } from '#data/holders/fold-holders.ts'
import {
  firstSupplyDay,
  type RankedHolding,
  readLargest,
  readRank,
  readSupplyDays,
  readTotalSupply,
  type Scope,
} from '#data/holders/queries.ts'
import { lastPoint } from '#data/prices/price-book.ts'
import type { Connection } from '#db/engine.ts'
import { join, sql } from '#db/sql.ts'
import { onSqlite } from '#test/store/each-engine.ts'
import { registerMigrations } from './datasets.ts'
import { type EventQuery, listEvents } from './event-lists.ts'

const list = (filters: Partial<EventQuery>) => (connection: Connection) =>
  listEvents(connection, { dataset: 'burns', limit: 20, chainIds: [1, 8453], ...filters })
const after = { timestamp: 9, chainId: 1, blockNumber: 9, place: 0 }

type Lookups = readonly (readonly [string, (connection: Connection) => Promise<unknown>, RegExp])[]

/** Questions of the endpoints, and by what each is looked up: by all that narrows it down. */
const LOOKUPS: Lookups = [
  ['all events', list({}), /^SEARCH events USING INDEX events_newest \(dataset=\?\)$/],
  [
    'further events',
    list({ after }),
    /INDEX events_newest \(dataset=\? AND \(timestamp_unix,chain_id,block_number,place\)<\(\?,\?,\?,\?\)\)$/,
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
    'days',
    (connection) => readEventDays(connection, { dataset: 'burns', token: 'GRAVE', fromUnix: 0 }),
    /INDEX event_buckets_by_time \(dataset=\? AND grain=\? AND bucket_unix>\?\)$/,
  ],
  [
    'a price at a moment',
    (connection) => lastPoint(connection, 'GRAVE', 90),
    /INDEX price_points_by_time \(symbol=\? AND timestamp_unix<\?\)$/,
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
    /INDEX events_of_account_and_token \(dataset=\? AND account=\? AND token=\? AND \(timestamp_unix,chain_id,block_number,place\)<.*\)$/,
  ],
  [
    'events of an account on a chain',
    list({ account: '0x01', chainId: 1 }),
    /INDEX events_of_account_and_chain \(dataset=\? AND account=\? AND chain_id=\?\)$/,
  ],
]

const onBase = { token: 'GRAVE', chainIds: [8453] }
const onBoth = { token: 'GRAVE', chainIds: [1, 8453] }
const own = { address: '0x01', balance: 5n } as const
const largest = (scope: Scope, more: { readonly after?: RankedHolding } = {}) => {
  const asked = { limit: 20, after: more.after }
  return (connection: Connection) => readLargest(connection, scope, asked)
}

const LOOKUPS_OF_HOLDERS: Lookups = [
  [
    'holders on a chain',
    largest(onBase),
    /COVERING INDEX balances_by_size \(token=\? AND chain_id=\? AND balance>\?\)$/,
  ],
  [
    'further holders on a chain',
    largest(onBase, { after: own }),
    /COVERING INDEX balances_by_size \(token=\? AND chain_id=\? AND .*balance.*\)$/,
  ],
  [
    'further holders on all chains',
    largest(onBoth, { after: own }),
    /COVERING INDEX holder_totals_by_size \(token=\? AND .*balance.*\)$/,
  ],
  [
    'the rank of a wallet',
    (connection) => readRank(connection, onBoth, { own, leftOut: [] }),
    /(COVERING INDEX holder_totals_by_size \(token=\? AND .*balance.*\)|^SCAN larger)$/,
  ],
  [
    'what a wallet held a month ago',
    (connection) =>
      openingSince({ connection, chainId: 1 }, { token: 'GRAVE', address: '0x01', hourUnix: 0 }),
    /balance_hours USING PRIMARY KEY \(token=\? AND address=\? AND chain_id=\? AND hour_unix>\?\)$/,
  ],
]

for (const [name, ask, expected] of [...LOOKUPS, ...LOOKUPS_OF_ACCOUNTS, ...LOOKUPS_OF_HOLDERS])
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
