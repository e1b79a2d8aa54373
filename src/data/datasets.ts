import { createHash } from 'node:crypto'
import type { Json } from '#base/json.ts'
import { burnsDataset } from '#data/burns/dataset.ts'
import { makeEventDataset } from '#data/events/event-dataset.ts'
import { eventsTables } from '#data/events/tables.ts'
import { holdersDataset } from '#data/holders/dataset.ts'
import { holdersTables } from '#data/holders/tables.ts'
import { eventKinds } from '#data/kinds.ts'
import { priceSeries, pricesDataset, pricesTables } from '#data/prices/dataset.ts'
import type { Tables } from '#db/engine.ts'
import { firstSchema } from '#db/migrate.ts'
import type { Ecosystem } from '#ecosystem/ecosystem.ts'
import { type AnyDataset, toAnyDataset } from '#index/dataset.ts'
import { contractsDataset } from '#index/found-contracts.ts'
import { indexerTables } from '#index/tables.ts'

/** Listed in the order of application. */
export function allDatasets(ecosystem: Ecosystem): readonly AnyDataset[] {
  const { tokens } = ecosystem
  return [
    toAnyDataset(contractsDataset(collectOrigins(ecosystem))),
    toAnyDataset(pricesDataset(priceSeries(tokens))),
    toAnyDataset(holdersDataset(ecosystem)),
    ...eventKinds.map(({ part, dataset: name }) =>
      part === 'burns'
        ? toAnyDataset(burnsDataset(ecosystem))
        : toAnyDataset(makeEventDataset({ name, sources: ecosystem[part] })),
    ),
  ]
}

function collectOrigins(ecosystem: Ecosystem) {
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
  eventsTables,
  holdersTables,
  pricesTables,
  graveDigTables,
])

/**
 * The file or schema of the register: `register_` and a digest of its tables and of what in the ecosystem file
 * shapes figures. Another file, or a version with other tables, has another register: none is changed to fit.
 */
export type RegisterName = `register_${string}`

export function registerName(ecosystem: Ecosystem): RegisterName {
  const text = JSON.stringify(sorted([registerMigrations, pickShape(ecosystem)]))
  // An address is the same in any case.
  const plain = text.replace(/0x[0-9a-fA-F]{40}/g, (address) => address.toLowerCase())
  return `register_${createHash('sha256').update(plain).digest('hex').slice(0, 12)}`
}

/** Leaves out names, labels, endpoints, payments, tiers and prices of calls. */
function pickShape({ file, ...ecosystem }: Ecosystem) {
  const { chains, tokens, supply } = file
  const sources = [...eventKinds.flatMap(({ part }) => ecosystem[part]), ...ecosystem.bridges]
  return {
    chains: chains.map(({ name, id, startBlock }) => ({ name, id, startBlock })),
    tokens: tokens.map(({ name: _, ...token }) => token),
    burnAddresses: supply?.burnAddresses,
    nonCirculating: supply?.nonCirculating?.map(({ address }) => address),
    // A module counts by its text, wherever it stands.
    events: eventKinds.map(({ part }) => file[part]?.map(({ rows: _, ...mapping }) => mapping)),
    modules: sources.map(({ code }) => code?.digest),
  }
}

/** The order of members says nothing. */
function sorted(value: unknown): Json {
  if (Array.isArray(value)) return value.map(sorted)
  if (typeof value !== 'object' || value === null) return (value ?? null) as Json
  const members = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1))
  return Object.fromEntries(members.map(([name, each]) => [name, sorted(each)]))
}
