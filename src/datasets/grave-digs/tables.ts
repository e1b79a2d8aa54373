import type { Migration } from '#store/engine.ts'

/**
 * The datasets share their sums by account, and only this one ranks its accounts. The index holds all that
 * is told of a leader, so that none is looked up in the table.
 */
export const leadersMigration: Migration = {
  id: 1400,
  name: 'wallets that dig are ranked',
  sql: `
    create index grave_dig_leaders on event_account_sums
      (token, amount desc, last_unix, account, events, first_unix)
      where dataset = 'grave-digs'`,
}
