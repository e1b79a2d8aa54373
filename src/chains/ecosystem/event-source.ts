import type { AbiEvent } from 'ox/AbiEvent'
import type { Address } from '#domain/address.ts'
import type { JsonMembers } from '#lib/json.ts'
import type { EventArguments } from './event-arguments.ts'
import type { Chain, PricedToken } from './priced-token.ts'

export interface EventSource {
  readonly chain: Chain
  readonly address: Address
  readonly event: AbiEvent
  readonly topic0: `0x${string}`
  /** Accepted values per argument, lower-cased; other arguments pass. */
  readonly where: ReadonlyMap<string, ReadonlySet<string>>
  /** Refused values per argument. */
  readonly whereNot: ReadonlyMap<string, ReadonlySet<string>>
  /** The token that the mapping names; null if an argument names it. */
  readonly token: PricedToken | null
  /** What `read` depends on: once it changes, the events are read again. */
  readonly facts: JsonMembers
  /** Throws DecodeError if the log is unreadable. Must be pure. */
  read(args: EventArguments): EventReading
}

export interface EventReading {
  /** The kind's own word, such as `burn` or `claim`. */
  readonly kind: string
  /** Symbol. */
  readonly token: string
  /** Null if the event names no account. */
  readonly account: Address | null
  /** Base units. */
  readonly amount: bigint
  readonly detail: string | null
  /** Whether it counts in totals; a distribution does not. */
  readonly counted: boolean
}
