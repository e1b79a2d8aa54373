import assert from 'node:assert/strict'
import { setImmediate } from 'node:timers/promises'
import { argumentNames } from '#chains/ecosystem/emitted-event.ts'
import { DecodeError, type EventArguments } from '#chains/ecosystem/event-arguments.ts'
import type { EventSource } from '#chains/ecosystem/event-source.ts'
import type { MappingCode } from '#chains/ecosystem/mapping-code/mapping-code.ts'
import { type Log, placeOf } from '#domain/chain.ts'
import { keyOfLog, keyOfSource, readArguments } from '../decode-event.ts'

/** A row that a mapping makes of a log. */
export interface MappedRow {
  readonly source: EventSource
  readonly args: EventArguments
  /** Its number among the rows of the log. */
  readonly row?: number
}

export interface CodeReader {
  /** Whether the log waits for the others of its transaction. */
  isRead(log: Log): boolean
  /** Takes all logs of their transactions. The rows of a log throw DecodeError. */
  read(logs: readonly Log[]): Promise<(log: Log) => readonly MappedRow[]>
}

type CodeSource = EventSource & { readonly code: MappingCode }

/** Undefined if no mapping has code. */
export function makeCodeReader(sources: readonly EventSource[]): CodeReader | undefined {
  const coded = sources.filter((each): each is CodeSource => each.code !== undefined)
  if (coded.length === 0) return undefined
  const keys = new Set([...coded, ...coded.flatMap(({ code }) => code.companions)].map(keyOfSource))
  const byKey = Map.groupBy(sources, keyOfSource)
  return {
    isRead: (log) => keys.has(keyOfLog(log)),
    async read(logs) {
      const found = new Map<EventSource, Rows>()
      for (const source of coded) found.set(source, await runCode(source, logs))
      return (log) =>
        (byKey.get(keyOfLog(log)) ?? []).flatMap((source) => {
          const rows = found.get(source)
          return rows === undefined ? plainRow(source, log) : codeRows(source, rows.get(log))
        })
    },
  }
}

function plainRow(source: EventSource, log: Log): readonly MappedRow[] {
  const args = readArguments(source, log)
  return args === undefined ? [] : [{ source, args }]
}

function codeRows(source: EventSource, found: Found | undefined): readonly MappedRow[] {
  if (found === undefined) return []
  if (found instanceof DecodeError) throw found
  return found.rows.map((row, index) => ({ source, args: { ...found.args, ...row }, row: index }))
}

type Found =
  | DecodeError
  | { readonly args: EventArguments; readonly rows: readonly EventArguments[] }

/** What the code made of each log that it was run on. */
type Rows = ReadonlyMap<Log, Found>

/** Bounds how long other work waits; entering the context costs as much as a hundred logs. */
const LOGS_AT_ONCE = 1_000

async function runCode(source: CodeSource, logs: readonly Log[]): Promise<Rows> {
  const { code } = source
  const rows = new Map<Log, Found>()
  const own = decodeOwn(source, logs, rows)
  const beside = logsBeside(code, logs)
  for (let done = 0; done < own.length; ) {
    const some = own.slice(done, done + LOGS_AT_ONCE)
    const outcomes = code.run(some.map(({ log, args }) => ({ ...log, args, ...beside?.(log) })))
    for (const [index, outcome] of outcomes.entries()) {
      const each = some[index]
      assert(each !== undefined, 'an outcome without a log')
      const { log, args } = each
      rows.set(
        log,
        typeof outcome === 'string' ? new DecodeError(outcome) : { args, rows: outcome },
      )
    }
    done += outcomes.length
    await setImmediate()
  }
  return rows
}

interface Decoded {
  readonly log: Log
  readonly args: EventArguments
}

/** Logs that pass `where`; unreadable ones go into `rows`. */
function decodeOwn(
  source: EventSource,
  logs: readonly Log[],
  rows: Map<Log, Found>,
): readonly Decoded[] {
  const key = keyOfSource(source)
  return logs.flatMap((log) => {
    if (keyOfLog(log) !== key) return []
    try {
      const args = readArguments(source, log)
      return args === undefined ? [] : [{ log, args }]
    } catch (error) {
      if (!(error instanceof DecodeError)) throw error
      rows.set(log, error)
      return []
    }
  })
}

/** The logs of the same transaction that the mapping lists in `with`, in their order. */
function logsBeside({ companions }: MappingCode, logs: readonly Log[]) {
  if (companions.length === 0) return undefined
  const byKey = new Map(companions.map((each) => [keyOfSource(each), each]))
  const byTransaction = Map.groupBy(
    logs.filter((log) => byKey.has(keyOfLog(log))),
    transactionOf,
  )
  return (log: Log) => {
    const found = byTransaction.get(transactionOf(log)) ?? []
    const ordered = found.toSorted((a, b) => placeOf(a) - placeOf(b))
    return { logs: ordered.flatMap((each) => nameLog(byKey.get(keyOfLog(each)), each)) }
  }
}

/** A contract can emit what does not fit; it is no log of the event then. */
function nameLog(companion: MappingCode['companions'][number] | undefined, log: Log) {
  if (companion === undefined) return []
  try {
    const args = readArguments(companion, log)
    if (args === undefined) return []
    const { event } = companion
    return [{ ...log, args, name: event.name, names: argumentNames(event) }]
  } catch (error) {
    if (error instanceof DecodeError) return []
    throw error
  }
}

function transactionOf({ blockHash, txHash }: Log): string {
  return `${blockHash} ${txHash}`
}
