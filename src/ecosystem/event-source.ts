import type { AbiEvent } from 'ox/AbiEvent'
import type { Address } from '#base/address.ts'
import type { Json } from '#base/json.ts'
import type { EventArguments } from './event-arguments.ts'
import type { FoundContracts } from './found-contracts.ts'
import type { ModuleEvent } from './module-types.ts'
import type { Chain, Emitters, PricedToken } from './priced-token.ts'

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
export function countIndexed({ inputs }: AbiEvent): number {
  return inputs.filter(({ indexed }) => indexed).length
}

/** All by which its logs are read. */
export function describeEvent({ name, inputs }: AbiEvent): Json {
  return [name, ...inputs.map(({ name = '', type, indexed = false }) => [name, type, indexed])]
}

export interface EventSource extends EmittedEvent {
  /** The token that the mapping names; null if an argument names it. */
  readonly token: PricedToken | null
  /** Its logs are those of contracts that a factory made, instead of those of `address`, the factory. */
  readonly made?: Factory
  /** Makes the rows of a log; without it, a log is one row. */
  readonly code?: MappingCode
  /** Throws DecodeError if the log is unreadable. Must be pure. */
  read(args: EventArguments): EventReading
}

/** Each event names a contract that it made. */
export interface Factory {
  readonly found: FoundContracts
  readonly event: EmittedEvent
  readonly argument: string
}

/** Names what leads to contracts that are found. */
export interface Origins {
  readonly factories: readonly Factory[]
  readonly emitters: readonly Emitters[]
}

export interface EventReading {
  /** The kind's own word, such as `burn` or `claim`. */
  readonly kind: string
  readonly token: string
  /** Null if the event names no account. */
  readonly account: Address | null
  readonly amount: bigint
  readonly detail: string | null
  /** Whether it counts in totals; a distribution does not. */
  readonly counted: boolean
}

/** The operator's module, with what it exports of `rows` and `keep`. */
export interface CodeModule {
  /** The name alone, such as `payouts.ts`. */
  readonly file: string
  /** SHA-256 of the file's bytes, in hex. */
  readonly digest: string
  readonly rows?: (event: ModuleEvent) => unknown
  readonly keep?: (event: ModuleEvent) => unknown
}

/** A value that the module's rows have, in place of an argument of the event. */
export interface RowMember {
  readonly name: string
  /** The mapping's field that it stands for. */
  readonly field: string
  readonly type: 'amount' | 'address' | 'text'
  readonly isOptional?: boolean
}

export interface MappingCode extends CodeModule {
  /** Events whose logs the module sees if they are of the same transaction. */
  readonly companions: readonly EmittedEvent[]
  readonly members: readonly RowMember[]
}
