import { type AbiEvent, from, getSelector } from 'ox/AbiEvent'
import type { Parameter } from 'ox/AbiParameters'
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
import type { MappingContext, Resolver } from './resolver.ts'

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
  resolve(context: MappingContext, entry: Static<Mapping>): EventSource | undefined
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
    resolve: (context: MappingContext, entry: unknown) =>
      kind.resolve(context, entry as Static<Mapping>),
  }
}

/** A mapping without how its logs are read. */
export type MappedEvent = Omit<EventSource, 'read'>

type Mapping = Static<TObject<typeof mapping>> & Partial<Coded>

/** Resolves the fields shared by all mappings; undefined after a problem. */
export function resolveEvent(context: MappingContext, mapping: Mapping): MappedEvent | undefined {
  const { resolver, field } = context
  const chain = resolver.chain(`${field}.chain`, mapping.chain)
  const address = resolveAddress(context, mapping)
  const event = parseEvent(context, 'event', mapping.event)
  if (event === undefined || address === undefined) return undefined
  const token = mapping.token === undefined ? null : resolver.token(`${field}.token`, mapping.token)
  const where = resolveWhere(resolver, field, { event, where: mapping.where ?? {} })
  if (chain === undefined || token === undefined) return undefined
  const code = resolveCode(context, mapping, { chain, address })
  const made = mapping.contracts && resolveFactory(context, mapping.contracts, { chain, address })
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
function resolveAddress({ resolver, field }: MappingContext, mapping: Mapping) {
  const { address, contracts } = mapping
  if (contracts === undefined)
    return address === undefined
      ? resolver.problems.add(
          `${field}.address`,
          'is missing: write the contract that emits, or contracts for those that a factory makes',
        )
      : resolver.address(`${field}.address`, address)
  if (address !== undefined)
    resolver.problems.add(`${field}.address`, 'is not for mappings with contracts; remove it')
  if (mapping.rows !== undefined)
    resolver.problems.add(`${field}.rows`, 'is not for mappings with contracts; remove it')
  return resolver.address(`${field}.contracts.factory`, contracts.factory)
}

function resolveFactory(
  context: MappingContext,
  contracts: NonNullable<Mapping['contracts']>,
  { chain, address }: Pick<MappedEvent, 'chain' | 'address'>,
): Factory | undefined {
  const event = parseEvent(context, 'contracts.event', contracts.event)
  if (event === undefined) return undefined
  requireArguments(context, { event }, { 'contracts.argument': contracts.argument }, 'address')
  const key = JSON.stringify([address, describeEvent(event), contracts.argument])
  const found = new FoundContracts(chain.id, key)
  return { found, event: everyLog(chain, address, event), argument: contracts.argument }
}

function resolveCode(
  context: MappingContext,
  { module, decided, ...mapping }: Mapping,
  emitter: Pick<MappedEvent, 'chain' | 'address'>,
): MappingCode | undefined {
  const { resolver, field } = context
  const companions = (mapping.with ?? []).flatMap((beside, index) => {
    const member = `with[${index}]`
    const address =
      beside.address === undefined
        ? emitter.address
        : resolver.address(`${field}.${member}.address`, beside.address)
    const event = parseEvent(context, `${member}.event`, beside.event)
    return event === undefined ? [] : [everyLog(emitter.chain, address, event)]
  })
  if (mapping.rows !== undefined && decided === undefined)
    resolver.problems.add(`${field}.rows`, 'is not for this kind of event; remove it')
  if (module !== undefined) return { ...module, members: decided ?? [], companions }
  if (mapping.with !== undefined && mapping.rows === undefined)
    resolver.problems.add(`${field}.with`, 'is for mappings with rows; remove it')
  return undefined
}

function everyLog(chain: Chain, address: Address, event: AbiEvent): EmittedEvent {
  const topic0 = getSelector(event)
  return { chain, address, event, topic0, where: new Map(), whereNot: new Map() }
}

function parseEvent(
  { resolver, field }: MappingContext,
  member: string,
  text: string,
): AbiEvent | undefined {
  try {
    const item = from(text, { prepare: false })
    if (item.type === 'event') return item
  } catch {}
  return resolver.problems.add(
    `${field}.${member}`,
    'is not an event in human-readable ABI; write it as in Solidity, such as "event Transfer(address indexed from, address indexed to, uint256 value)"',
  )
}

/** `named`: the arguments by the fields that name them; fields left out are skipped. */
export function requireArguments(
  { resolver, field }: MappingContext,
  { event }: Pick<MappedEvent, 'event'>,
  named: Readonly<Record<string, string | undefined>>,
  type?: 'address' | 'uint256',
): void {
  for (const [member, name] of Object.entries(named)) {
    if (name === undefined || isComputed(name)) continue
    const input: Parameter | undefined = event.inputs.find((each) => each.name === name)
    if (input === undefined)
      resolver.problems.add(
        `${field}.${member}`,
        `"${name}" is not an argument of ${event.name}; known: ${names(event)}`,
      )
    else if (!fits(input, type))
      resolver.problems.add(
        `${field}.${member}`,
        `"${name}" is of type ${input.type}; choose an argument of type ${type}`,
      )
  }
}

function fits({ type }: Parameter, wanted: 'address' | 'uint256' | undefined): boolean {
  if (wanted === 'address') return type === 'address'
  return wanted === undefined || /^uint[0-9]*$/.test(type)
}

function names(event: AbiEvent): string {
  return event.inputs.map((input) => input.name).join(', ')
}

/** `of` finds the symbol by the address in an argument, or as the mapping names it; throws UnlistedTokenError. */
export function resolveToken(
  context: MappingContext,
  mapped: MappedEvent,
  tokenArgument: string | undefined,
): { of(args: EventArguments): string } {
  const { resolver, field } = context
  const { chain, token } = mapped
  if (tokenArgument === undefined) {
    if (token === null)
      resolver.problems.add(
        `${field}.token`,
        'is missing: name the token, or the argument that holds it as tokenArgument',
      )
    return { of: () => token?.symbol ?? '' }
  }
  requireArguments(context, mapped, { tokenArgument }, 'address')
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

type Where = Static<typeof mapping.where>

/** Resolves accepted and refused values per argument to their logged form; reports values that do not fit. */
export function resolveWhere(
  resolver: Resolver,
  field: string,
  { event, where: conditions }: { readonly event: AbiEvent; readonly where: Where },
): Pick<EventSource, 'where' | 'whereNot'> {
  const where = new Map<string, ReadonlySet<string>>()
  const whereNot = new Map<string, ReadonlySet<string>>()
  for (const [name, condition] of Object.entries(conditions)) {
    const argument = event.inputs.find((each) => each.name === name)
    if (argument === undefined) {
      const known = event.inputs.map((each) => each.name).join(', ')
      resolver.problems.add(
        `${field}.where.${name}`,
        `is not an argument of ${event.name}; known: ${known}`,
      )
      continue
    }
    const read: string[] = []
    const isNot = typeof condition === 'object' && 'not' in condition
    for (const value of [isNot ? condition.not : condition].flat()) {
      const asLogged = toLogged(argument, value)
      if (asLogged === undefined)
        resolver.problems.add(
          `${field}.where.${name}`,
          `"${value}" is not of type ${argument.type}; write ${writeExample(argument)}`,
        )
      else read.push(asLogged)
    }
    if (isNot) whereNot.set(name, new Set(read))
    else where.set(name, new Set(read))
  }
  return { where, whereNot }
}

interface Argument {
  readonly type: string
  readonly indexed?: boolean | undefined
}

/** A value as in decoded logs, lower-cased; undefined if it does not fit the type. */
function toLogged({ type, indexed }: Argument, value: string) {
  if (type === 'address') return parseAddress(value)
  if (type === 'bool') return value === 'true' || value === 'false' ? value : undefined
  if (/^u?int[0-9]*$/.test(type)) return toInteger(type, value)
  const size = /^bytes([0-9]+)$/.exec(type)?.[1]
  if (size !== undefined) return toHex(value, Number(size))
  // Logs contain only the hash of indexed strings, arrays and structs (Solidity ABI, events).
  if (indexed === true) return toHex(value, 32) ?? (type === 'string' ? hashText(value) : undefined)
  if (type === 'string') return value.toLowerCase()
  return type === 'bytes' ? toHex(value) : undefined
}

function toInteger(type: string, value: string): string | undefined {
  if (!/^(-?[0-9]{1,78}|0x[0-9a-fA-F]{1,64})$/.test(value)) return undefined
  const number = BigInt(value)
  const bits = BigInt(/[0-9]+$/.exec(type)?.[0] ?? 256)
  const [least, end] = type.startsWith('u')
    ? [0n, 2n ** bits]
    : [-(2n ** (bits - 1n)), 2n ** (bits - 1n)]
  return number >= least && number < end ? number.toString() : undefined
}

function toHex(value: string, bytes?: number): string | undefined {
  const digits = bytes === undefined ? '([0-9a-f]{2})*' : `[0-9a-f]{${bytes * 2}}`
  const lower = value.toLowerCase()
  return new RegExp(`^0x${digits}$`).test(lower) ? lower : undefined
}

function hashText(text: string): string {
  return keccak256(fromString(text))
}

function writeExample({ type, indexed }: Argument): string {
  if (type === 'address') return '0x and 40 hex digits, with the EIP-55 checksum if in mixed case'
  if (type === 'bool') return '"true" or "false"'
  if (/^u?int/.test(type)) return 'a whole number in range, such as "42"'
  const size = /^bytes([0-9]+)$/.exec(type)?.[1] ?? (indexed === true ? '32' : undefined)
  if (size !== undefined) return `0x and ${Number(size) * 2} hex digits`
  return type === 'bytes' ? '0x and pairs of hex digits' : 'a filter on another argument'
}
