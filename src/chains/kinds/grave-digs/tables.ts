import type { Migration } from '#store/engine.ts'

/** A covering index: only this dataset ranks accounts. */
export const leadersMigration: Migration = {
  id: 2400,
  name: 'wallets that dig are ranked',
  sql: `
    create index grave_dig_leaders on event_account_sums
      (token, amount desc, last_unix, account, events, first_unix)
      where dataset = 'grave-digs'`,
}
