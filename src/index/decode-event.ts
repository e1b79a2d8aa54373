import { type AbiEvent, decode } from 'ox/AbiEvent'
import type { Parameter } from 'ox/AbiParameters'
import type { Address, Hash } from '#base/address.ts'
import type { Log } from '#base/chain.ts'
import { argument, DecodeError, type EventArguments } from '#ecosystem/event-arguments.ts'
import {
  countIndexed,
  type EmittedEvent,
  type EventSource,
  type Factory,
} from '#ecosystem/event-source.ts'
import type { Selector } from './dataset.ts'

export function makeEventReader(
  sources: readonly EventSource[],
): (log: Log) => readonly { readonly source: EventSource; readonly args: EventArguments }[] {
  const sourcesOf = groupSources(sources)
  const factories = Map.groupBy(
    sources.flatMap(({ made }) => made ?? []),
    ({ event }) => keyOfSource(event),
  )
  return (log) => {
    for (const factory of factories.get(keyOfLog(log)) ?? []) requireFollowed(factory, log)
    return fitting(sourcesOf(log), log).flatMap((source) => {
      const args = readArguments(source, log)
      return args === undefined ? [] : [{ source, args }]
    })
  }
}

/** A contract that is not followed lacks in the figures of the mapping. */
function requireFollowed(factory: Factory, log: Log): void {
  const contract = readContract(factory, log)
  const { found, event } = factory
  if (contract === undefined || found.counts(contract, log.blockNumber)) return
  throw new DecodeError(
    `${event.address} made more than ${found.max} contracts; only the first ones are followed`,
  )
}

/** Throws DecodeError. */
export function readContract(
  { event, argument: name }: Factory,
  log: UndatedLog,
): Address | undefined {
  const args = readArguments(event, log)
  return args && argument.address(args, name)
}

/** The sources of a log, in the order of the file. */
function groupSources(sources: readonly EventSource[]): (log: Log) => readonly EventSource[] {
  const byKey = Map.groupBy(
    sources.filter(({ made }) => made === undefined),
    keyOfSource,
  )
  const ofMade = Map.groupBy(
    sources.filter(({ made }) => made !== undefined),
    ({ chain, topic0 }) => `${chain.id}|${topic0}`,
  )
  return (log) => {
    const own = byKey.get(keyOfLog(log)) ?? []
    if (ofMade.size === 0) return own
    const made = ofMade
      .get(`${log.chainId}|${log.topics[0]}`)
      ?.filter((each) => each.made?.found.counts(log.address, log.blockNumber))
    if (made === undefined || made.length === 0) return own
    return [...own, ...made].sort((a, b) => sources.indexOf(a) - sources.indexOf(b))
  }
}

/**
 * Those whose arguments are indexed as in the log: what ERC-20 and ERC-721 call Transfer differs in nothing else. All
 * if none is, for the anomaly.
 */
export function fitting<Event extends EmittedEvent>(
  events: readonly Event[],
  { topics }: Pick<Log, 'topics'>,
): readonly Event[] {
  if (events.length < 2) return events
  const own = events.filter((each) => countIndexed(each.event) === topics.length - 1)
  return own.length > 0 ? own : events
}

export function keyOfSource({ chain, address, topic0 }: EmittedEvent): string {
  return `${chain.id}|${address}|${topic0}`
}

export function keyOfLog({ chainId, address, topics }: Log): string {
  return `${chainId}|${address}|${topics[0]}`
}

/** Undefined if `where` leaves the log out. Throws DecodeError. */
export function readArguments(source: EmittedEvent, log: UndatedLog): EventArguments | undefined {
  const args = decodeArguments(source, log)
  return passes(source, args) ? args : undefined
}

/** Accepted addresses become topics. Logs that a mapping's code looks at are selected too. */
export function toSelectors(sources: readonly EventSource[]): readonly Selector[] {
  return sources.flatMap(({ made, code, ...source }) => [
    { ...toSelector(source), ...(made && { found: made.found }) },
    ...(made ? [toSelector(made.event)] : []),
    ...(code?.companions ?? []).map(toSelector),
  ])
}

function toSelector(source: EmittedEvent): Selector {
  const topics = source.event.inputs
    .filter((input) => input.indexed)
    .map((input) => acceptedTopics(source, input))
  const { chain, address, topic0 } = source
  const last = topics.findLastIndex((values) => values !== null)
  const wanted = last < 0 ? {} : { arguments: topics.slice(0, last + 1) }
  return { chainId: chain.id, address, topic0, ...wanted }
}

function acceptedTopics(source: EmittedEvent, input: Parameter): readonly Hash[] | null {
  const values = source.where.get(input.name ?? '')
  if (values === undefined || input.type !== 'address') return null
  return [...values].map<Hash>((value) => `0x${value.slice(2).padStart(64, '0')}`)
}

type UndatedLog = Pick<Log, 'topics' | 'data'>

type Decode = (log: UndatedLog) => EventArguments | undefined

const decoders = new WeakMap<EmittedEvent, Decode>()

function decodeArguments(source: EmittedEvent, log: UndatedLog): EventArguments {
  let decode = decoders.get(source)
  if (decode === undefined) {
    decode = compileWordDecoder(source.event) ?? ((each) => decodeAny(source, each))
    decoders.set(source, decode)
  }
  const args = decode(log)
  if (args === undefined) throw new DecodeError(describeMisfit(source))
  return args
}

export function describeMisfit({ event, address }: EmittedEvent): string {
  return `${event.name} of ${address} does not fit its ABI`
}

function decodeAny(source: EmittedEvent, log: UndatedLog): EventArguments {
  try {
    const [topic0 = source.topic0, ...rest] = log.topics
    return toRecord(decode(source.event, { topics: [topic0, ...rest], data: log.data }))
  } catch (cause) {
    throw new DecodeError(describeMisfit(source), { cause })
  }
}

function toRecord(args: unknown): EventArguments {
  return typeof args === 'object' && args !== null ? { ...args } : {}
}

function passes(source: EmittedEvent, args: EventArguments): boolean {
  for (const [name, values] of source.where)
    if (!values.has(String(args[name]).toLowerCase())) return false
  for (const [name, values] of source.whereNot)
    if (values.has(String(args[name]).toLowerCase())) return false
  return true
}

type WordReader = (word: string) => unknown

const WORD_DIGITS = 64

/**
 * For events whose arguments are all one word; undefined for others (Solidity ABI). The reader
 * returns undefined if a log does not fit.
 */
export function compileWordDecoder(
  event: AbiEvent,
):
  | ((log: Pick<Log, 'topics' | 'data'>) => Readonly<Record<string, unknown>> | undefined)
  | undefined {
  const fields = event.inputs.map((input, position) => ({
    name: input.name ?? String(position),
    indexed: input.indexed === true,
    read: findReader(input.type),
  }))
  if (event.anonymous === true || fields.some((field) => field.read === undefined)) return undefined
  const topics = fields.filter((field) => field.indexed).length + 1
  const digits = (fields.length - topics + 1) * WORD_DIGITS
  return (log) => {
    if (log.topics.length !== topics || log.data.length < digits + 2) return undefined
    const args: Record<string, unknown> = {}
    let topic = 1
    let at = 2
    for (const { name, indexed, read } of fields) {
      const word = indexed
        ? (log.topics[topic++] ?? '').slice(2)
        : log.data.slice(at, at + WORD_DIGITS)
      if (!indexed) at += WORD_DIGITS
      const value = read?.(word)
      if (value === undefined) return undefined
      args[name] = value
    }
    return args
  }
}

function findReader(type: string): WordReader | undefined {
  if (type === 'address') return (word) => `0x${word.slice(24)}`
  if (type === 'bool') return readFlag
  const [, kind, size] = /^(uint|int|bytes)(\d+)$/.exec(type) ?? []
  if (kind === 'uint') return (word) => BigInt(`0x${word}`)
  if (kind === 'int') return (word) => BigInt.asIntN(256, BigInt(`0x${word}`))
  if (kind === 'bytes') return (word) => `0x${word.slice(0, Number(size) * 2)}`
  return undefined
}

function readFlag(word: string): boolean | undefined {
  const value = Number(`0x${word}`)
  return value > 1 ? undefined : value === 1
}
