import type { AbiEvent } from 'ox/AbiEvent'
import { keccak256 } from 'ox/Hash'
import { fromString } from 'ox/Hex'
import type { Static } from 'typebox'
import { parseAddress } from '#base/address.ts'
import type { EventSource } from './event-source.ts'
import type { mapping } from './fields.ts'
import type { Resolver } from './resolver.ts'

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
