import { type AbiEvent, from, getSelector } from 'ox/AbiEvent'
import { keccak256 } from 'ox/Hash'
import { fromString } from 'ox/Hex'
import type { Static, TObject, TSchema } from 'typebox'
import { type Address, parseAddress } from '#base/address.ts'
import { tokenAddress } from '#base/token.ts'
import { argument, type EventArguments, UnlistedTokenError } from './event-arguments.ts'
import {
  describeEvent,
  type EmittedEvent,
  type EventSource,
  type Factory,
  type MappingCode,
} from './event-source.ts'
import type { mapping } from './fields.ts'
import { FoundContracts } from './found-contracts.ts'
import { type Coded, isComputed } from './mapping-code.ts'
import type { Chain } from './priced-token.ts'
import type { Resolver } from './resolver.ts'

/** A kind of event that an operator can map; its folder is `src/data/<kind>/`. */
interface EventKind<Part extends string, Mapping extends TSchema> {
  /** The list in the operator's file, and in `meta.notConfigured`. */
  readonly part: Part
  /** Name in the register, and in logs. */
  readonly dataset: string
  /** The name in prose, such as `grave digs`. */
  readonly noun: string
  readonly tag: { readonly name: string; readonly description: string }
  /** Returns a request worth trying first. */
  example(chain: string): string
  /** Names in the stream and in webhooks, by the kind of a row. */
  readonly streamed: Readonly<Record<string, string>>
  /** What the wallet of an event did, such as `was paid`. */
  readonly deed: string
  /** Series of `/api/stats/history`. */
  readonly metrics: readonly EventMetric[]
  readonly byAccount: boolean
  readonly mapping: Mapping
  /** What the reference of the file says of the list, and of members that other kinds lack. */
  readonly meaning: string
  readonly meanings: Readonly<Record<string, string>>
  /** Undefined after a problem. `entry` has the shape of `mapping`. */
  resolve(resolver: Resolver, entry: Static<Mapping>): EventSource | undefined
}

export interface EventMetric {
  readonly name: string
  /** What is summed: amounts of a token, dollars at the event, or events. */
  readonly unit: 'token' | 'usd' | 'count'
  /** Whether a day shows the sum up to its end, not its own. */
  readonly isCumulative?: boolean
}

/** Hides the type of the mapping, so that all kinds fit into one list. */
export function defineEventKind<const Part extends string, Mapping extends TSchema>(
  kind: EventKind<Part, Mapping>,
) {
  return {
    ...kind,
    resolve: (resolver: Resolver, entry: unknown) =>
      kind.resolve(resolver, entry as Static<Mapping>),
  }
}

/** A mapping without how its logs are read. */
export type MappedEvent = Omit<EventSource, 'read'>

type Mapping = Static<TObject<typeof mapping>> & Partial<Coded>

/** Resolves the fields shared by all mappings; undefined after a problem. */
export function resolveEvent(resolver: Resolver, mapping: Mapping): MappedEvent | undefined {
  const chain = resolver.chain('chain', mapping.chain)
  const address = resolveAddress(resolver, mapping)
  const event = parseEvent(resolver, 'event', mapping.event)
  if (event === undefined || address === undefined) return undefined
  const token = mapping.token === undefined ? null : resolver.token('token', mapping.token)
  const where = resolveWhere(resolver, event, mapping.where ?? {})
  if (chain === undefined || token === undefined) return undefined
  const code = resolveCode(resolver, mapping, { chain, address })
  const made = mapping.contracts && resolveFactory(resolver, mapping.contracts, { chain, address })
  return {
    chain,
    address,
    event,
    topic0: getSelector(event),
    ...where,
    token,
    ...(code && { code }),
    ...(made && { made }),
  }
}

/** Returns the factory's address where it makes the contracts that emit. */
function resolveAddress(resolver: Resolver, mapping: Mapping) {
  const { address, contracts } = mapping
  if (contracts === undefined)
    return address === undefined
      ? resolver.report(
          'address',
          'is missing: write the contract that emits, or contracts for those that a factory makes',
        )
      : resolver.address('address', address)
  if (address !== undefined)
    resolver.report('address', 'is not for mappings with contracts; remove it')
  if (mapping.rows !== undefined)
    resolver.report('rows', 'is not for mappings with contracts; remove it')
  return resolver.address('contracts.factory', contracts.factory)
}

function resolveFactory(
  resolver: Resolver,
  contracts: NonNullable<Mapping['contracts']>,
  { chain, address }: Pick<MappedEvent, 'chain' | 'address'>,
): Factory | undefined {
  const event = parseEvent(resolver, 'contracts.event', contracts.event)
  if (event === undefined) return undefined
  requireArguments(resolver, { event }, { 'contracts.argument': contracts.argument }, 'address')
  const key = JSON.stringify([address, describeEvent(event), contracts.argument])
  const found = new FoundContracts(chain.id, key)
  return { found, event: everyLog(chain, address, event), argument: contracts.argument }
}

function resolveCode(
  resolver: Resolver,
  { module, decided, ...mapping }: Mapping,
  emitter: Pick<MappedEvent, 'chain' | 'address'>,
): MappingCode | undefined {
  const companions = (mapping.with ?? []).flatMap((beside, index) => {
    const member = `with[${index}]`
    const address =
      beside.address === undefined
        ? emitter.address
        : resolver.address(`${member}.address`, beside.address)
    const event = parseEvent(resolver, `${member}.event`, beside.event)
    return event === undefined ? [] : [everyLog(emitter.chain, address, event)]
  })
  if (mapping.rows !== undefined && decided === undefined)
    resolver.report('rows', 'is not for this kind of event; remove it')
  if (module !== undefined) return { ...module, members: decided ?? [], companions }
  if (mapping.with !== undefined && mapping.rows === undefined)
    resolver.report('with', 'is for mappings with rows; remove it')
  return undefined
}

function everyLog(chain: Chain, address: Address, event: AbiEvent): EmittedEvent {
  const topic0 = getSelector(event)
  return { chain, address, event, topic0, where: new Map(), whereNot: new Map() }
}

function parseEvent(resolver: Resolver, member: string, text: string): AbiEvent | undefined {
  try {
    const item = from(text, { prepare: false })
    if (item.type === 'event') return item
  } catch {}
  return resolver.report(
    member,
    'is not an event in human-readable ABI; write it as in Solidity, such as "event Transfer(address indexed from, address indexed to, uint256 value)"',
  )
}

/** `named`: the arguments by the fields that name them; fields left out are skipped. */
export function requireArguments(
  resolver: Resolver,
  { event }: Pick<MappedEvent, 'event'>,
  named: Readonly<Record<string, string | undefined>>,
  type?: keyof typeof TYPES,
): void {
  for (const [member, name] of Object.entries(named)) {
    if (name === undefined || isComputed(name)) continue
    const input = event.inputs.find((each) => each.name === name)
    if (input === undefined)
      resolver.report(
        member,
        `"${name}" is not an argument of ${event.name}; known: ${names(event)}`,
      )
    else if (type !== undefined && !TYPES[type].test(input.type))
      resolver.report(
        member,
        `"${name}" is of type ${input.type}; choose an argument of type ${type}`,
      )
  }
}

const TYPES = { address: /^address$/, uint256: /^uint[0-9]*$/ }

function names(event: AbiEvent): string {
  return event.inputs.map((input) => input.name).join(', ')
}

/** `of` finds the symbol by the address in an argument, or as the mapping names it; throws UnlistedTokenError. */
export function resolveToken(
  resolver: Resolver,
  mapped: MappedEvent,
  tokenArgument: string | undefined,
): { of(args: EventArguments): string } {
  const { chain, token } = mapped
  if (tokenArgument === undefined) {
    if (token === null)
      resolver.report(
        'token',
        'is missing: name the token, or the argument that holds it as tokenArgument',
      )
    return { of: () => token?.symbol ?? '' }
  }
  requireArguments(resolver, mapped, { tokenArgument }, 'address')
  return {
    of(args) {
      const address = tokenAddress(argument.address(args, tokenArgument))
      const found = resolver.tokenAt(chain, address)
      if (found === undefined)
        throw new UnlistedTokenError(`token ${address} is not listed for chain ${chain.name}`)
      return found.symbol
    },
  }
}

/** Resolves accepted and refused values per argument to their logged form; reports values that do not fit. */
function resolveWhere(
  resolver: Resolver,
  event: AbiEvent,
  conditions: Static<typeof mapping.where>,
): Pick<EventSource, 'where' | 'whereNot'> {
  const where = new Map<string, ReadonlySet<string>>()
  const whereNot = new Map<string, ReadonlySet<string>>()
  for (const [name, condition] of Object.entries(conditions)) {
    const field = `where.${name}`
    const argument = event.inputs.find((each) => each.name === name)
    if (argument === undefined) {
      resolver.report(field, `is not an argument of ${event.name}; known: ${names(event)}`)
      continue
    }
    const { example, read } = formOf(argument)
    const logged = new Set<string>()
    const isNot = typeof condition === 'object' && 'not' in condition
    for (const value of [isNot ? condition.not : condition].flat()) {
      const asLogged = read(value)
      if (asLogged === undefined)
        resolver.report(field, `"${value}" is not of type ${argument.type}; write ${example}`)
      else logged.add(asLogged)
    }
    if (isNot) whereNot.set(name, logged)
    else where.set(name, logged)
  }
  return { where, whereNot }
}

/** What to write for an argument; `read` returns it as in decoded logs, lower-cased, or undefined if it does not fit. */
interface ArgumentForm {
  readonly example: string
  read(value: string): string | undefined
}

function formOf({ type, indexed }: AbiEvent['inputs'][number]): ArgumentForm {
  const hex = (bytes: number): ArgumentForm => ({
    example: `0x and ${bytes * 2} hex digits`,
    read: (value) => toHex(value, bytes),
  })
  if (type === 'address')
    return {
      example: '0x and 40 hex digits, with the EIP-55 checksum if in mixed case',
      read: parseAddress,
    }
  if (type === 'bool')
    return {
      example: '"true" or "false"',
      read: (value) => (value === 'true' || value === 'false' ? value : undefined),
    }
  if (/^u?int[0-9]*$/.test(type))
    return {
      example: 'a whole number in range, such as "42"',
      read: (value) => toInteger(type, value),
    }
  const size = /^bytes([0-9]+)$/.exec(type)?.[1]
  if (size !== undefined) return hex(Number(size))
  // Logs contain only the hash of indexed strings, arrays and structs (Solidity ABI, events).
  if (indexed === true && type === 'string')
    return { ...hex(32), read: (value) => toHex(value, 32) ?? keccak256(fromString(value)) }
  if (indexed === true) return hex(32)
  if (type === 'bytes') return { example: '0x and pairs of hex digits', read: toHex }
  const isText = type === 'string'
  return {
    example: 'a filter on another argument',
    read: (value) => (isText ? value.toLowerCase() : undefined),
  }
}

function toInteger(type: string, value: string): string | undefined {
  if (!/^(-?[0-9]{1,78}|0x[0-9a-fA-F]{1,64})$/.test(value)) return undefined
  const number = BigInt(value)
  const bits = Number(/[0-9]+$/.exec(type)?.[0] ?? 256)
  const wrapped = type.startsWith('u') ? BigInt.asUintN(bits, number) : BigInt.asIntN(bits, number)
  return wrapped === number ? number.toString() : undefined
}

function toHex(value: string, bytes?: number): string | undefined {
  const digits = bytes === undefined ? '([0-9a-f]{2})*' : `[0-9a-f]{${bytes * 2}}`
  const lower = value.toLowerCase()
  return new RegExp(`^0x${digits}$`).test(lower) ? lower : undefined
}
