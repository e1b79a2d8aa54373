import type { Ecosystem } from '#ecosystem/ecosystem.ts'
import type { Route } from '#http/route.ts'
import { type AnyDataset, toAnyDataset } from '#indexer/dataset.ts'
import { indexerMigrations } from '#indexer/tables.ts'
import type { Migration } from '#store/engine.ts'
import { burnsDataset } from './burns/dataset.ts'
import { type BurnDeps, burnRoutes } from './burns/routes.ts'
import { depositsDataset, depositsMigration } from './deposits/deposits.ts'
import { dividendsDataset } from './dividends/dataset.ts'
import { dividendRoutes } from './dividends/routes.ts'
import { graveDigsDataset } from './grave-digs/dataset.ts'
import { graveDigRoutes } from './grave-digs/routes.ts'
import { holdersDataset } from './holders/dataset.ts'
import { holdersMigration } from './holders/tables.ts'
import { priceSeries, pricesDataset } from './prices/dataset.ts'
import { pricesMigration } from './prices/tables.ts'

/** Every dataset, in the order in which a commit applies them. A new kind of fact is one line here. */
export function allDatasets(ecosystem: Ecosystem): readonly AnyDataset[] {
  const { tokens } = ecosystem
  return [
    toAnyDataset(pricesDataset(priceSeries(tokens))),
    toAnyDataset(holdersDataset(ecosystem)),
    toAnyDataset(burnsDataset(ecosystem.burns)),
    toAnyDataset(dividendsDataset(ecosystem.dividends, tokens)),
    toAnyDataset(graveDigsDataset(ecosystem.graveDigs, tokens)),
    toAnyDataset(depositsDataset(ecosystem.payment)),
  ]
}

/** The schema of the register. */
export const registerMigrations: readonly Migration[] = [
  ...indexerMigrations,
  holdersMigration,
  pricesMigration,
  depositsMigration,
]

/** The endpoints of the datasets. */
export function datasetRoutes(deps: BurnDeps): readonly Route[] {
  return [...burnRoutes(deps), ...dividendRoutes(deps), ...graveDigRoutes(deps)]
}
