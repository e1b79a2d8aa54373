import { burnsDataset } from '#data/burns/dataset.ts'
import { eventKinds } from '#data/kinds.ts'
import type { Tables } from '#db/engine.ts'
import { firstSchema } from '#db/migrate.ts'
import type { Ecosystem } from '#ecosystem/ecosystem.ts'
import { type AnyDataset, toAnyDataset } from '#index/dataset.ts'
import { makeEventDataset } from '#index/events/event-dataset.ts'
import { contractsDataset } from '#index/found-contracts.ts'
import { indexerTables } from '#index/tables.ts'
import { holdersDataset } from './holders/dataset.ts'
import { holdersTables } from './holders/tables.ts'
import { priceSeries, pricesDataset } from './prices/dataset.ts'
import { pricesTables } from './prices/tables.ts'

/** Listed in the order of application. */
export function allDatasets(ecosystem: Ecosystem): readonly AnyDataset[] {
  const { tokens } = ecosystem
  return [
    toAnyDataset(contractsDataset(originsOf(ecosystem))),
    toAnyDataset(pricesDataset(priceSeries(tokens))),
    toAnyDataset(holdersDataset(ecosystem)),
    ...eventKinds.map(({ part, dataset: name, byAccount }) =>
      part === 'burns'
        ? toAnyDataset(burnsDataset(ecosystem))
        : toAnyDataset(makeEventDataset({ name, part, byAccount, sources: ecosystem[part] })),
    ),
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

/** A covering index: only this dataset ranks accounts. */
const graveDigTables: Tables = `
    create index grave_dig_leaders on event_account_sums
      (token, amount desc, last_unix, account, events, first_unix)
      where dataset = 'grave-digs'`

export const registerMigrations = firstSchema('register', [
  ...indexerTables,
  holdersTables,
  pricesTables,
  graveDigTables,
])
