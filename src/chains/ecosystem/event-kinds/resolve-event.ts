import { type AbiEvent, from, getSelector } from 'ox/AbiEvent'
import type { Parameter } from 'ox/AbiParameters'
import type { EventSource } from '../event-source.ts'
import type { MappingContext } from './event-kind.ts'
import { resolveWhere, type Where } from './resolve-where.ts'

/** A mapping without how its logs are read. */
export type MappedEvent = Omit<EventSource, 'facts' | 'read'>

interface Mapping {
  readonly chain: string
  readonly address: string
  readonly event: string
  readonly token?: string
  readonly where?: Where
}

/** Resolves the fields shared by all mappings; undefined after a problem. */
export function resolveEvent(
  { resolver, field }: MappingContext,
  mapping: Mapping,
): MappedEvent | undefined {
  const chain = resolver.chain(`${field}.chain`, mapping.chain)
  const address = resolver.address(`${field}.address`, mapping.address)
  const event = parseEvent(mapping.event)
  if (event === undefined)
    return resolver.problems.add(
      `${field}.event`,
      'is not an event in human-readable ABI; write it as in Solidity, such as "event Transfer(address indexed from, address indexed to, uint256 value)"',
    )
  const token = mapping.token === undefined ? null : resolver.token(`${field}.token`, mapping.token)
  const where = resolveWhere(resolver, field, { event, where: mapping.where ?? {} })
  if (chain === undefined || token === undefined) return undefined
  return { chain, address, event, topic0: getSelector(event), ...where, token }
}

function parseEvent(text: string): AbiEvent | undefined {
  try {
    const item = from(text, { prepare: false })
    return item.type === 'event' ? item : undefined
  } catch {
    return undefined
  }
}

/** `named`: the arguments by the fields that name them; fields left out are skipped. */
export function requireArguments(
  { resolver, field }: MappingContext,
  { event }: MappedEvent,
  named: Readonly<Record<string, string | undefined>>,
  type?: 'address' | 'uint256',
): void {
  for (const [member, name] of Object.entries(named)) {
    if (name === undefined) continue
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
