import type { AbiEvent } from 'ox/AbiEvent'
import type { Address } from '#base/address.ts'
import type { Json } from '#base/json.ts'
import type { Chain } from './priced-token.ts'

/** The logs of one event of a contract. */
export interface EmittedEvent {
  readonly chain: Chain
  readonly address: Address
  readonly event: AbiEvent
  readonly topic0: `0x${string}`
  /** Accepted values per argument, lower-cased; other arguments pass. */
  readonly where: ReadonlyMap<string, ReadonlySet<string>>
  /** Refused values per argument. */
  readonly whereNot: ReadonlyMap<string, ReadonlySet<string>>
}

/** How many of its arguments are topics. */
export function indexedOf({ inputs }: AbiEvent): number {
  return inputs.filter(({ indexed }) => indexed).length
}

/** All by which its logs are read. */
export function describeEvent({ name, inputs }: AbiEvent): Json {
  return [name, ...inputs.map(({ name = '', type, indexed = false }) => [name, type, indexed])]
}
