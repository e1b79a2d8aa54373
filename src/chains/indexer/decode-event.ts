import { decode } from 'ox/AbiEvent'
import type { Parameter } from 'ox/AbiParameters'
import { DecodeError, type EventArguments } from '#chains/ecosystem/event-arguments.ts'
import type { EventSource } from '#chains/ecosystem/event-source.ts'
import type { Hash } from '#domain/address.ts'
import type { Log } from '#domain/chain.ts'
import type { Selector } from './select-logs.ts'
import { compileWordDecoder } from './word-decoder.ts'

export function makeEventReader(
  sources: readonly EventSource[],
): (log: Log) => readonly { readonly source: EventSource; readonly args: EventArguments }[] {
  const byKey = Map.groupBy(sources, (each) => `${each.chain.id}|${each.address}|${each.topic0}`)
  return (log) =>
    (byKey.get(`${log.chainId}|${log.address}|${log.topics[0]}`) ?? []).flatMap((source) => {
      const args = decodeArguments(source, log)
      return passes(source, args) ? [{ source, args }] : []
    })
}

/** Accepted addresses become topics. */
export function selectorsOf(sources: readonly EventSource[]): readonly Selector[] {
  return sources.map((source) => {
    const topics = source.event.inputs
      .filter((input) => input.indexed)
      .map((input) => acceptedTopics(source, input))
    const { chain, address, topic0 } = source
    const last = topics.findLastIndex((values) => values !== null)
    const wanted = last < 0 ? {} : { arguments: topics.slice(0, last + 1) }
    return { chainId: chain.id, address, topic0, ...wanted }
  })
}

function acceptedTopics(source: EventSource, input: Parameter): readonly Hash[] | null {
  const values = source.where.get(input.name ?? '')
  if (values === undefined || input.type !== 'address') return null
  return [...values].map<Hash>((value) => `0x${value.slice(2).padStart(64, '0')}`)
}

type Decode = (log: Log) => EventArguments | undefined

const decoders = new WeakMap<EventSource, Decode>()

function decodeArguments(source: EventSource, log: Log): EventArguments {
  let decode = decoders.get(source)
  if (decode === undefined) {
    decode = compileWordDecoder(source.event) ?? ((each) => decodeAny(source, each))
    decoders.set(source, decode)
  }
  const args = decode(log)
  if (args === undefined) throw new DecodeError(misfitOf(source))
  return args
}

export function misfitOf({ event, address }: EventSource): string {
  return `${event.name} of ${address} does not fit its ABI`
}

function decodeAny(source: EventSource, log: Log): EventArguments {
  try {
    const [topic0 = source.topic0, ...rest] = log.topics
    return toRecord(decode(source.event, { topics: [topic0, ...rest], data: log.data }))
  } catch (cause) {
    throw new DecodeError(misfitOf(source), { cause })
  }
}

function toRecord(args: unknown): EventArguments {
  return typeof args === 'object' && args !== null ? { ...args } : {}
}

function passes(source: EventSource, args: EventArguments): boolean {
  for (const [name, values] of source.where)
    if (!values.has(String(args[name]).toLowerCase())) return false
  for (const [name, values] of source.whereNot)
    if (values.has(String(args[name]).toLowerCase())) return false
  return true
}
