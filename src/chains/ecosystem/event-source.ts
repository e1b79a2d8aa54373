import type { Address } from '#domain/address.ts'
import type { JsonMembers } from '#lib/json.ts'
import type { EmittedEvent } from './emitted-event.ts'
import type { EventArguments } from './event-arguments.ts'
import type { MappingCode } from './mapping-code/mapping-code.ts'
import type { PricedToken } from './priced-token.ts'

export interface EventSource extends EmittedEvent {
  /** The token that the mapping names; null if an argument names it. */
  readonly token: PricedToken | null
  /** What `read` depends on: once it changes, the events are read again. */
  readonly facts: JsonMembers
  /** The field that `where` comes from, if not its own. */
  readonly whereField?: string
  /** Makes the rows of a log; without it, a log is one row. */
  readonly code?: MappingCode
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
