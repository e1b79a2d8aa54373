import { index, onchainTable, primaryKey } from 'ponder'

export const balance = onchainTable(
  'balance',
  (t) => ({ token: t.hex().notNull(), account: t.hex().notNull(), amount: t.bigint().notNull() }),
  (table) => ({ pk: primaryKey({ columns: [table.token, table.account] }) }),
)

export const burn = onchainTable(
  'burn',
  (t) => ({
    id: t.text().primaryKey(),
    token: t.hex().notNull(),
    from: t.hex().notNull(),
    to: t.hex().notNull(),
    amount: t.bigint().notNull(),
    timestamp: t.integer().notNull(),
    transactionHash: t.hex().notNull(),
  }),
  (table) => ({ byTime: index().on(table.timestamp) }),
)

export const burnDay = onchainTable(
  'burn_day',
  (t) => ({
    token: t.hex().notNull(),
    day: t.integer().notNull(),
    amount: t.bigint().notNull(),
    burns: t.integer().notNull(),
  }),
  (table) => ({ pk: primaryKey({ columns: [table.token, table.day] }) }),
)

export const claim = onchainTable(
  'claim',
  (t) => ({
    id: t.text().primaryKey(),
    account: t.hex().notNull(),
    token: t.hex().notNull(),
    amount: t.bigint().notNull(),
    timestamp: t.integer().notNull(),
    transactionHash: t.hex().notNull(),
  }),
  (table) => ({ byAccount: index().on(table.account) }),
)

export const dig = onchainTable('dig', (t) => ({
  id: t.text().primaryKey(),
  digger: t.hex().notNull(),
  amount: t.bigint().notNull(),
  timestamp: t.integer().notNull(),
  transactionHash: t.hex().notNull(),
}))
