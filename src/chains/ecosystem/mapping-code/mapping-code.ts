import { parseAddress } from '#domain/address.ts'
import type { EmittedEvent } from '../emitted-event.ts'
import type { EventArguments } from '../event-arguments.ts'
import { ModuleRealm, type Outcome, type RealmLog } from './module-realm.ts'
import type { CodeModule } from './read-module.ts'

/** A value that a module decides, in place of an argument of the event. */
export interface RowMember {
  /** Names the function and the member of a row. */
  readonly name: string
  /** The mapping's field that it stands for. */
  readonly field: string
  readonly type: 'amount' | 'address' | 'text'
  readonly isOptional?: boolean
}

/** The module of a mapping. */
export class MappingCode {
  readonly file: string
  readonly digest: string
  readonly companions: readonly EmittedEvent[]
  readonly members: readonly RowMember[]
  readonly #realm: ModuleRealm

  constructor(
    module: CodeModule,
    spec: {
      /** The arguments of the event. */
      readonly names: readonly string[]
      readonly members: readonly RowMember[]
      /** Events whose logs the module sees if they are of the same transaction. */
      readonly companions: readonly EmittedEvent[]
    },
  ) {
    const { names, members, companions } = spec
    this.file = module.file
    this.digest = module.digest
    this.companions = companions
    this.members = members
    this.#realm = new ModuleRealm(module, { names, members: members.map(({ name }) => name) })
  }

  /**
   * Returns the arguments of each row, or what is wrong, in the order of the logs: for at least one log,
   * and for fewer than all if the time is up. Throws CodeStallError.
   */
  run(logs: readonly RealmLog[]): readonly (string | readonly EventArguments[])[] {
    return this.#realm.run(logs).map((outcome) => this.#toArguments(outcome))
  }

  #toArguments(outcome: Outcome): string | readonly EventArguments[] {
    if (typeof outcome === 'string') return `${this.file}: ${outcome}`
    const rows: EventArguments[] = []
    for (const values of outcome) {
      const row: Record<string, unknown> = {}
      for (const [index, member] of this.members.entries()) {
        const value = values[index]
        const read = value === undefined ? undefined : readValue(member, value)
        if (read === undefined && (value !== undefined || member.isOptional !== true))
          return `${this.file}: ${member.name} is ${show(value)}; it must be ${WANTED[member.type]}`
        row[computed(member)] = read
      }
      rows.push(row)
    }
    return rows
  }
}

const PREFIX = 'rows.'

/** The name of the argument that holds what the module decides; no event has such a name. */
export function computed({ name }: Pick<RowMember, 'name'>): string {
  return PREFIX + name
}

export function isComputed(argument: string): boolean {
  return argument.startsWith(PREFIX)
}

const WANTED = {
  amount: 'a bigint from 0n to 2n ** 256n - 1n',
  address: 'an address: 0x and 40 hex digits',
  text: 'a text or a bigint',
} as const

const UINT256_END = 2n ** 256n

function readValue({ type }: RowMember, value: bigint | string): bigint | string | undefined {
  if (type === 'text') return String(value)
  if (type === 'address') return typeof value === 'string' ? parseAddress(value) : undefined
  return typeof value === 'bigint' && value >= 0n && value < UINT256_END ? value : undefined
}

function show(value: bigint | string | undefined): string {
  if (typeof value === 'string') return JSON.stringify(value.slice(0, 80))
  return value === undefined ? 'missing' : `${value}n`.slice(0, 80)
}
