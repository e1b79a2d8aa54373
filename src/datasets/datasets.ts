import type { Ecosystem } from '#ecosystem/ecosystem.ts'
import { type AnyDataset, toAnyDataset } from '#indexer/dataset.ts'
import { indexerMigrations } from '#indexer/tables.ts'
import type { Migration } from '#store/engine.ts'
import { burnsDataset } from './burns/dataset.ts'
import { depositsDataset, depositsMigration } from './deposits/deposits.ts'
import { balanceChecksMigration } from './deposits/proof/balance-check.ts'
import { dividendsDataset } from './dividends/dataset.ts'
import { graveDigsDataset } from './grave-digs/dataset.ts'
import { leadersMigration } from './grave-digs/tables.ts'
import { holdersDataset } from './holders/dataset.ts'
import { proofsMigration } from './holders/proof/proof-row.ts'
import { holdersMigration } from './holders/tables.ts'
import { priceSeries, pricesDataset } from './prices/dataset.ts'
import { pricesMigration } from './prices/tables.ts'

/** In the order of application. A new dataset is one line here. */
export function allDatasets(ecosystem: Ecosystem): readonly AnyDataset[] {
  const { tokens, payment } = ecosystem
  return [
    toAnyDataset(pricesDataset(priceSeries(tokens))),
    toAnyDataset(holdersDataset(ecosystem)),
    toAnyDataset(burnsDataset(ecosystem.burns)),
    toAnyDataset(dividendsDataset(ecosystem.dividends, tokens)),
    toAnyDataset(graveDigsDataset(ecosystem.graveDigs, tokens)),
    toAnyDataset(depositsDataset(payment)),
  ]
}

export const registerMigrations: readonly Migration[] = [
  ...indexerMigrations,
  holdersMigration,
  proofsMigration,
  pricesMigration,
  depositsMigration,
  balanceChecksMigration,
  leadersMigration,
]
