import { type AbiEvent, from, getSelector } from 'ox/AbiEvent'
import type { Parameter } from 'ox/AbiParameters'
import type { DividendSource, EventSource, GraveDigSource } from './ecosystem.ts'
import type { EcosystemFile } from './ecosystem-file.ts'
import { resolveWhere } from './resolve-where.ts'
import type { Resolver } from './resolver.ts'

type BurnFile = NonNullable<EcosystemFile['burns']>[number]
type DividendFile = NonNullable<EcosystemFile['dividends']>[number]
type GraveDigFile = NonNullable<EcosystemFile['graveDigs']>[number]

type Mapping = Pick<BurnFile, 'chain' | 'address' | 'event' | 'token' | 'where'>

export function resolveDividend(
  resolver: Resolver,
  field: string,
  dividend: DividendFile,
): DividendSource | undefined {
  const source = resolveEvent(resolver, field, dividend)
  if (source === undefined) return undefined
  requireArgument(resolver, source, `${field}.amount`, dividend.amount, 'uint256')
  requireToken(resolver, source, field, dividend.tokenArgument)
  if (dividend.recipient !== undefined)
    requireArgument(resolver, source, `${field}.recipient`, dividend.recipient, 'address')
  else if (dividend.kind === 'claim')
    resolver.problems.add(
      `${field}.recipient`,
      'is missing: a claim names the argument that holds the claimer',
    )
  return {
    ...source,
    kind: dividend.kind,
    amount: dividend.amount,
    recipient: dividend.recipient ?? null,
    tokenArgument: dividend.tokenArgument ?? null,
  }
}

export function resolveGraveDig(
  resolver: Resolver,
  field: string,
  dig: GraveDigFile,
): GraveDigSource | undefined {
  const source = resolveEvent(resolver, field, dig)
  if (source === undefined) return undefined
  requireArgument(resolver, source, `${field}.amount`, dig.amount, 'uint256')
  requireArgument(resolver, source, `${field}.digger`, dig.digger, 'address')
  requireToken(resolver, source, field, dig.tokenArgument)
  if (dig.graveId !== undefined) requireArgument(resolver, source, `${field}.graveId`, dig.graveId)
  return {
    ...source,
    digger: dig.digger,
    amount: dig.amount,
    graveId: dig.graveId ?? null,
    tokenArgument: dig.tokenArgument ?? null,
  }
}

/** Resolves the fields shared by all mappings; undefined after a problem. */
export function resolveEvent(
  resolver: Resolver,
  field: string,
  mapping: Mapping,
): EventSource | undefined {
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
  return { chain, address, event, topic0: getSelector(event), where, token }
}

function parseEvent(text: string): AbiEvent | undefined {
  try {
    const item = from(text, { prepare: false })
    return item.type === 'event' ? item : undefined
  } catch {
    return undefined
  }
}

export function requireArgument(
  resolver: Resolver,
  source: EventSource,
  field: string,
  name: string,
  type?: 'address' | 'uint256',
): void {
  const input: Parameter | undefined = source.event.inputs.find((each) => each.name === name)
  if (input === undefined)
    resolver.problems.add(
      field,
      `"${name}" is not an argument of ${source.event.name}; known: ${names(source.event)}`,
    )
  else if (type === 'address' ? input.type !== 'address' : type && !/^uint[0-9]*$/.test(input.type))
    resolver.problems.add(
      field,
      `"${name}" is of type ${input.type}; choose an argument of type ${type}`,
    )
}

function requireToken(
  resolver: Resolver,
  source: EventSource,
  field: string,
  argument: string | undefined,
): void {
  if (argument !== undefined)
    requireArgument(resolver, source, `${field}.tokenArgument`, argument, 'address')
  else if (source.token === null)
    resolver.problems.add(
      `${field}.token`,
      'is missing: name the token, or the argument that holds it as tokenArgument',
    )
}

function names(event: AbiEvent): string {
  return event.inputs.map((input) => input.name).join(', ')
}
