import type { Ecosystem } from '#ecosystem/ecosystem.ts'
import { adoptedFileMigration } from '#indexer/adopted-file/tables.ts'
import { backfillsMigration } from '#indexer/backfill/backfill-row.ts'
import { type AnyDataset, toAnyDataset } from '#indexer/dataset.ts'
import { matchedMappingsMigration } from '#indexer/events/matched-mappings.ts'
import {
  lessByAccountMigration,
  listsOfAccountsMigration,
  listsOfTokensMigration,
  sumsByTokenMigration,
} from '#indexer/events/tables.ts'
import { forgottenChainsMigration } from '#indexer/forgotten-chains.ts'
import { stalledChainsMigration } from '#indexer/stalled-chains.ts'
import { indexerMigrations } from '#indexer/tables.ts'
import type { Migration } from '#store/engine.ts'
import { burnsDataset } from './burns/dataset.ts'
import { depositProofsMigration, depositsDataset, depositsMigration } from './deposits/deposits.ts'
import { balanceChecksMigration } from './deposits/proof/balance-check.ts'
import { dividendsDataset } from './dividends/dataset.ts'
import { graveDigsDataset } from './grave-digs/dataset.ts'
import { leadersMigration, leadersWholeMigration } from './grave-digs/tables.ts'
import { holdersDataset } from './holders/dataset.ts'
import { proofsMigration, rereadingsMigration } from './holders/proof/proof-row.ts'
import { holderSpansMigration, holdersMigration, supplyByTimeMigration } from './holders/tables.ts'
import { priceSeries, pricesDataset } from './prices/dataset.ts'
import { finerPricesMigration, pricesMigration } from './prices/tables.ts'

/** Every dataset, in the order in which a commit applies them. A new kind of fact is one line here. */
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

/** The schema of the register. */
export const registerMigrations: readonly Migration[] = [
  ...indexerMigrations,
  holdersMigration,
  pricesMigration,
  depositsMigration,
  backfillsMigration,
  proofsMigration,
  lessByAccountMigration,
  holderSpansMigration,
  forgottenChainsMigration,
  leadersMigration,
  sumsByTokenMigration,
  leadersWholeMigration,
  listsOfTokensMigration,
  supplyByTimeMigration,
  adoptedFileMigration,
  finerPricesMigration,
  depositProofsMigration,
  balanceChecksMigration,
  rereadingsMigration,
  stalledChainsMigration,
  listsOfAccountsMigration,
  matchedMappingsMigration,
]
