/** The types that a mapping's module can import from the package. */

/** A decoded argument: integers are bigint, addresses and bytes lower-case hex. */
export type EventValue =
  | bigint
  | string
  | boolean
  | readonly EventValue[]
  | { readonly [name: string]: EventValue }

type EventValues = Readonly<Record<string, EventValue>>

/** A log of the mapping's event. `Args` are its arguments, such as `{ digger: string; amount: bigint }`. */
export interface ModuleEvent<Args = EventValues> {
  readonly args: Args
  /** `time` in Unix seconds. */
  readonly block: { readonly number: number; readonly time: number; readonly hash: string }
  readonly transactionHash: string
  /** The contract, in lower case. */
  readonly emitter: string
  readonly logIndex: number
  /** The logs of the same transaction that the mapping lists in `with`, in their order. */
  readonly logs?: readonly (Omit<ModuleEvent, 'logs'> & { readonly name: string })[]
}

/** Amounts are in base units. */
interface Row {
  readonly amount: bigint
}

export interface BurnRow extends Row {
  readonly from: string
}

export interface DividendRow extends Row {
  /** A `claim` must have one. */
  readonly recipient?: string
  /** The token's address; needed unless the mapping names the token. */
  readonly token?: string
}

export interface GraveDigRow extends Row {
  readonly digger: string
  readonly graveId?: string | bigint
  /** The token's address; needed unless the mapping names the token. */
  readonly token?: string
}
