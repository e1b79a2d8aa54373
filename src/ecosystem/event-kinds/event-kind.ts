import type { Static, TSchema } from 'typebox'
import type { Address } from '#base/address.ts'
import type { EventSource } from '../event-source.ts'
import type { Resolver } from '../resolver.ts'

/** A kind of event that an operator can map; its folder is `src/data/<kind>/`. */
export interface EventKind<Part extends string, Mapping extends TSchema> {
  /** The list in the operator's file, and in `meta.notConfigured`. */
  readonly part: Part
  /** Name in the register, and in logs. */
  readonly dataset: string
  /** The name in prose, such as `grave digs`. */
  readonly noun: string
  /** The OpenAPI tag of its endpoints. */
  readonly tag: { readonly name: string; readonly description: string }
  /** Returns a request worth trying first. */
  example(chain: string): string
  /** Names in the stream and in webhooks, by the kind of a row. */
  readonly streamed: Readonly<Record<string, string>>
  /** What the wallet of an event did, such as `was paid`. */
  readonly deed: string
  /** Series of `/api/stats/history`. */
  readonly metrics: readonly EventMetric[]
  /** Keeps sums by account. */
  readonly byAccount: boolean
  readonly mapping: Mapping
  /** What the reference of the file says of the list, and of members that other kinds lack. */
  readonly meaning: string
  readonly meanings: Readonly<Record<string, string>>
  /** Undefined after a problem. `entry` has the shape of `mapping`. */
  resolve(context: MappingContext, entry: Static<Mapping>): EventSource | undefined
  /** Mappings that are valid, but hardly meant. */
  warnings?(sources: readonly EventSource[]): readonly string[]
}

export interface EventMetric {
  readonly name: string
  /** What is summed: amounts of a token, dollars at the event, or events. */
  readonly unit: 'token' | 'usd' | 'count'
  /** Whether a day shows the sum up to its end, not its own. */
  readonly isCumulative?: boolean
}

export interface MappingContext {
  readonly resolver: Resolver
  /** Such as `burns[0]`. */
  readonly field: string
  readonly burnAddresses: readonly Address[]
}

/** Hides the type of the mapping, so that all kinds fit into one list. */
export function defineEventKind<const Part extends string, Mapping extends TSchema>(
  kind: EventKind<Part, Mapping>,
) {
  return {
    ...kind,
    resolve: (context: MappingContext, entry: unknown) =>
      kind.resolve(context, entry as Static<Mapping>),
  }
}
