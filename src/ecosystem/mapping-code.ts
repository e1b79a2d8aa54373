import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { basename } from 'node:path'
import { parseAddress } from '#base/address.ts'
import { ROWS_MAX } from '#base/chain.ts'
import { isObject } from '#base/json.ts'
import { DecodeError, type EventArguments } from './event-arguments.ts'
import type { CodeModule, MappingCode, RowMember } from './event-source.ts'
import type { ModuleEvent } from './module-types.ts'
import type { Resolver } from './resolver.ts'

/** Returns the arguments of each row. Throws DecodeError if the module throws, or a row is wrong. */
export function runCode(code: MappingCode, event: ModuleEvent): readonly EventArguments[] {
  try {
    return readRows(code, event)
  } catch (error) {
    const reason = error instanceof Error ? `${error.name}: ${error.message}` : String(error)
    throw new DecodeError(`${code.file}: ${reason.slice(0, REASON_MAX)}`, { cause: error })
  }
}

const REASON_MAX = 300

function readRows(
  { rows, keep, members }: MappingCode,
  event: ModuleEvent,
): readonly EventArguments[] {
  if (rows === undefined) {
    const kept = keep?.(event)
    if (typeof kept !== 'boolean')
      throw new TypeError(`keep() returned ${typeof kept}, not true or false`)
    return kept ? [{}] : []
  }
  const list = rows(event)
  if (!Array.isArray(list)) throw new TypeError(`rows() returned ${typeof list}, not a list`)
  if (list.length > ROWS_MAX)
    throw new RangeError(`rows() returned ${list.length} rows; at most ${ROWS_MAX} are stored`)
  return list.map((row) => readRow(row, members))
}

function readRow(row: unknown, members: readonly RowMember[]): EventArguments {
  if (!isObject(row)) throw new TypeError(`a row is of type ${typeof row}`)
  const known = members.map(({ name }) => name)
  const unknown = Object.keys(row).find((name) => !known.includes(name))
  if (unknown !== undefined)
    throw new TypeError(`a row has the unknown member ${unknown}; known: ${known.join(', ')}`)
  return Object.fromEntries(
    members.map((member) => [computed(member), readMember(row[member.name], member)]),
  )
}

function readMember(value: unknown, { name, type, isOptional }: RowMember): unknown {
  const isMissing = value === undefined || value === null
  if (isMissing && isOptional === true) return undefined
  const read = isMissing ? undefined : readValue(type, value)
  if (read === undefined)
    throw new TypeError(
      `${name} is ${isMissing ? 'missing' : show(value)}; it must be ${WANTED[type]}`,
    )
  return read
}

const WANTED = {
  amount: 'a bigint from 0n to 2n ** 256n - 1n',
  address: 'an address: 0x and 40 hex digits',
  text: 'a bigint, or a text of at most 1,000 characters',
} as const

const UINT256_END = 2n ** 256n
const TEXT_MAX = 1_000

function readValue(type: RowMember['type'], value: unknown): bigint | string | undefined {
  if (type === 'address') return typeof value === 'string' ? parseAddress(value) : undefined
  if (type === 'amount')
    return typeof value === 'bigint' && value >= 0n && value < UINT256_END ? value : undefined
  const text = typeof value === 'bigint' ? String(value) : value
  return typeof text === 'string' && text.length <= TEXT_MAX ? text : undefined
}

function show(value: unknown): string {
  if (typeof value === 'string') return JSON.stringify(value.slice(0, 80))
  return typeof value === 'bigint' ? `${value}n`.slice(0, 80) : `a ${typeof value}`
}

const PREFIX = 'rows.'

/** The name of the argument that holds what the module decides; no event has such a name. */
function computed({ name }: Pick<RowMember, 'name'>): string {
  return PREFIX + name
}

export function isComputed(argument: string): boolean {
  return argument.startsWith(PREFIX)
}

export interface Coded {
  /** Absent without `rows`, or after a problem. */
  readonly module?: CodeModule
  readonly decided: readonly RowMember[]
}

/**
 * Reads the module that the mapping names as `rows`. Fields that it decides become arguments, which
 * its rows have.
 */
export function readByCode<Entry extends { readonly token?: string; readonly rows?: string }>(
  resolver: Resolver,
  entry: Entry,
  members: readonly RowMember[],
): Entry & Coded {
  if (entry.rows === undefined) return { ...entry, decided: [] }
  const module = load(resolver, entry.rows)
  // `keep` decides no field; `rows` decides all.
  const isDeciding = module === undefined || module.rows !== undefined
  const decided = members.filter(
    ({ name }) => isDeciding && (name !== 'token' || entry.token === undefined),
  )
  const named = decided.map((member) => {
    if (entry[member.field as keyof Entry] !== undefined)
      resolver.report(member.field, `is decided by ${module?.file}; remove it here, or there`)
    return [member.field, computed(member)]
  })
  return { ...entry, ...Object.fromEntries(named), decided, ...(module && { module }) }
}

function load(resolver: Resolver, path: string): CodeModule | undefined {
  const file = basename(path)
  try {
    const digest = createHash('sha256').update(readFileSync(path)).digest('hex')
    const own = createRequire(import.meta.url)(path) as Record<string, unknown>
    const rows = isFunction(own.rows) && { rows: own.rows }
    const keep = isFunction(own.keep) && { keep: own.keep }
    if ((rows === false) === (keep === false))
      resolver.report('rows', `${file} must export either a function "rows" or one "keep"`)
    return { file, digest, ...rows, ...keep }
  } catch (error) {
    const reason = error instanceof Error ? error.message : error
    return resolver.report('rows', `cannot be loaded: ${reason}`)
  }
}

function isFunction(value: unknown): value is (event: ModuleEvent) => unknown {
  return typeof value === 'function'
}

/** Stands for a field that is missing. */
export function missing(resolver: Resolver, name: string): string {
  resolver.report(
    name,
    'is missing: name the argument that holds it, or a module that decides it as rows',
  )
  return computed({ name })
}
