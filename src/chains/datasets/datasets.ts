import type { Ecosystem } from '#chains/ecosystem/ecosystem.ts'
import { type AnyDataset, toAnyDataset } from '#chains/indexer/dataset.ts'
import { makeEventDataset } from '#chains/indexer/events/event-dataset.ts'
import { contractsDataset } from '#chains/indexer/found-contracts/dataset.ts'
import { indexerMigrations } from '#chains/indexer/tables.ts'
import { burnsDataset } from '#chains/kinds/burns/dataset.ts'
import { unmintedMigration } from '#chains/kinds/burns/unminted.ts'
import { leadersMigration } from '#chains/kinds/grave-digs/tables.ts'
import { eventKinds } from '#chains/kinds/kinds.ts'
import type { Migration } from '#store/engine.ts'
import { depositsDataset, depositsMigration } from './deposits/deposits.ts'
import { holdersDataset } from './holders/dataset.ts'
import { holdersMigration } from './holders/tables.ts'
import { priceSeries, pricesDataset } from './prices/dataset.ts'
import { pricesMigration } from './prices/tables.ts'

/** Listed in the order of application. */
export function allDatasets(ecosystem: Ecosystem): readonly AnyDataset[] {
  const { tokens, payment } = ecosystem
  return [
    toAnyDataset(contractsDataset(originsOf(ecosystem))),
    toAnyDataset(pricesDataset(priceSeries(tokens))),
    toAnyDataset(holdersDataset(ecosystem)),
    ...eventKinds.map(({ part, dataset: name, byAccount }) =>
      part === 'burns'
        ? toAnyDataset(burnsDataset(ecosystem))
        : toAnyDataset(makeEventDataset({ name, part, byAccount, sources: ecosystem[part] })),
    ),
    toAnyDataset(depositsDataset(payment)),
  ]
}

function originsOf(ecosystem: Ecosystem) {
  const sources = eventKinds.flatMap(({ part }) => ecosystem[part])
  return {
    factories: sources.flatMap(({ made }) => made ?? []),
    emitters: ecosystem.tokens.flatMap(({ prices }) =>
      prices.flatMap((price) => (price.chain === null ? [] : (price.emitters ?? []))),
    ),
  }
}

export const registerMigrations: readonly Migration[] = [
  ...indexerMigrations,
  holdersMigration,
  pricesMigration,
  depositsMigration,
  leadersMigration,
  unmintedMigration,
]
