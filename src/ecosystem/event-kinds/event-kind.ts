import type { Static, TSchema } from 'typebox'
import type { Address } from '#domain/address.ts'
import type { EventSource } from '../event-source.ts'
import type { Resolver } from '../resolver.ts'

/** A kind of event that an operator can map; its endpoints are in `datasets/`. */
export interface EventKind<Part extends string, Mapping extends TSchema> {
  /** The list in the operator's file, and in `meta.notConfigured`. */
  readonly part: Part
  /** Name in the register, in logs and in `meta.rereading`. */
  readonly dataset: string
  /** The name in prose, such as `grave digs`. */
  readonly noun: string
  /** The OpenAPI tag of its endpoints. */
  readonly tag: { readonly name: string; readonly description: string }
  /** A request worth trying first. */
  example(chain: string): string
  /** Keeps sums by account. */
  readonly byAccount: boolean
  readonly mapping: Mapping
  /** Undefined after a problem. `entry` has the shape of `mapping`. */
  resolve(context: MappingContext, entry: Static<Mapping>): EventSource | undefined
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
