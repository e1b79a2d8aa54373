import type { Migration } from '#store/engine.ts'

/** The datasets share their sums by account, and only one of them ranks its accounts. */
export const leadersMigration: Migration = {
  id: 65,
  name: 'only wallets that dig are ranked',
  sql: `
    drop index event_accounts_ranked;
    create index grave_dig_leaders on event_accounts (token, amount desc, last_unix, account)
      where dataset = 'grave-digs'`,
}
