import { DecodeError, type EventArguments } from '#chains/ecosystem/event-arguments.ts'
import type { EventSource } from '#chains/ecosystem/event-source.ts'
import { type MappingCode, runCode } from '#chains/ecosystem/mapping-code.ts'
import type { EventValue, ModuleEvent } from '#chains/ecosystem/module-types.ts'
import { type Log, placeOf } from '#domain/chain.ts'
import { fitting, keyOfLog, keyOfSource, makeEventReader, readArguments } from '../decode-event.ts'

/** A row that a mapping makes of a log. */
export interface MappedRow {
  readonly source: EventSource
  readonly args: EventArguments
  /** Its number among the rows of the log, where a module makes them. */
  readonly row?: number
}

/** Reads a log; `others` are those of its transaction. Throws DecodeError. */
type ReadRows = (log: Log, others: readonly Log[]) => readonly MappedRow[]

export function makeRowReader(sources: readonly EventSource[]): ReadRows {
  const readEvent = makeEventReader(sources)
  return (log, others) =>
    readEvent(log).flatMap(({ source, args }) => {
      const { code } = source
      if (code === undefined) return [{ source, args }]
      const event = { ...eventOf(log, args), ...logsBeside(code, others) }
      return runCode(code, event).map((own, row) => ({ source, args: { ...args, ...own }, row }))
    })
}

/** Tells logs that wait for the others of their transaction; undefined if no mapping needs them. */
export function makeWaiting(sources: readonly EventSource[]): ((log: Log) => boolean) | undefined {
  const keys = new Set(
    sources.flatMap((source) => {
      const companions = source.code?.companions ?? []
      return companions.length === 0 ? [] : [source, ...companions].map(keyOfSource)
    }),
  )
  return keys.size === 0 ? undefined : (log) => keys.has(keyOfLog(log))
}

export function transactionOf({ blockHash, txHash }: Log): string {
  return `${blockHash} ${txHash}`
}

function eventOf(log: Log, args: EventArguments): ModuleEvent {
  return {
    args: toValue(args) as ModuleEvent['args'],
    block: { number: log.blockNumber, time: log.timestamp, hash: log.blockHash },
    transactionHash: log.txHash,
    emitter: log.address,
    logIndex: log.logIndex,
  }
}

/** Small integers are decoded as numbers. */
function toValue(value: unknown): EventValue {
  if (typeof value === 'number') return BigInt(value)
  if (Array.isArray(value)) return value.map(toValue)
  if (typeof value !== 'object' || value === null) return value as EventValue
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, toValue(each)]))
}

/** The logs that the mapping lists in `with`, in their order. */
function logsBeside({ companions }: MappingCode, logs: readonly Log[]): Pick<ModuleEvent, 'logs'> {
  if (companions.length === 0) return {}
  const byKey = Map.groupBy(companions, keyOfSource)
  const ordered = logs.toSorted((a, b) => placeOf(a) - placeOf(b))
  return {
    logs: ordered.flatMap((log) =>
      nameLog(fitting(byKey.get(keyOfLog(log)) ?? [], log).at(-1), log),
    ),
  }
}

/** A contract can emit what does not fit; it is no log of the event then. */
function nameLog(companion: MappingCode['companions'][number] | undefined, log: Log) {
  if (companion === undefined) return []
  try {
    const args = readArguments(companion, log)
    return args === undefined ? [] : [{ ...eventOf(log, args), name: companion.event.name }]
  } catch (error) {
    if (error instanceof DecodeError) return []
    throw error
  }
}
