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

/** The index holds all that is told of a leader, so that none is looked up in the table, each on a page of its own. */
export const leadersWholeMigration: Migration = {
  id: 67,
  name: 'the ranking is read from its index alone',
  sql: `
    drop index grave_dig_leaders;
    create index grave_dig_leaders on event_account_sums
      (token, amount desc, last_unix, account, events, first_unix)
      where dataset = 'grave-digs'`,
}
