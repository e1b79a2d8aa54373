import { createHash } from 'node:crypto'
import type { Json } from '#base/json.ts'
import { eventKinds } from '#data/kinds.ts'
import type { Ecosystem } from '#ecosystem/ecosystem.ts'
import { registerMigrations } from './datasets.ts'

/**
 * The file or schema of the register: `register_` and a digest of its tables and of what in the ecosystem file
 * shapes figures. Another file, or a version with other tables, has another register: none is changed to fit.
 */
export type RegisterName = `register_${string}`

export function registerName(ecosystem: Ecosystem): RegisterName {
  const text = JSON.stringify(sorted([registerMigrations, shapeOf(ecosystem)]))
  // An address is the same in any case.
  const plain = text.replace(/0x[0-9a-fA-F]{40}/g, (address) => address.toLowerCase())
  return `register_${createHash('sha256').update(plain).digest('hex').slice(0, 12)}`
}

/** Leaves out names, labels, endpoints, payments, tiers and prices of calls. */
function shapeOf({ file, ...ecosystem }: Ecosystem) {
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
