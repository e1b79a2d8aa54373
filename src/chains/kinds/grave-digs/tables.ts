import type { Tables } from '#store/engine.ts'

/** A covering index: only this dataset ranks accounts. */
export const graveDigTables: Tables = `
    create index grave_dig_leaders on event_account_sums
      (token, amount desc, last_unix, account, events, first_unix)
      where dataset = 'grave-digs'`
