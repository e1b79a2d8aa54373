import { type Log, toPlace } from '#base/chain.ts'
import type { MicroUsd } from '#base/money.ts'
import type { Position } from '#chain/chain-source.ts'
import type { BulkInsert, Connection } from '#db/engine.ts'
import { column, type SqlValue, sql, toStored } from '#db/sql.ts'
import { DecodeError, type EventArguments } from '#ecosystem/event-arguments.ts'
import type { EventSource, MappingCode } from '#ecosystem/event-source.ts'
import { runCode } from '#ecosystem/mapping-code.ts'
import type { EventValue, ModuleEvent } from '#ecosystem/module-types.ts'
import type { Change, Dataset } from '../dataset.ts'
import {
  fitting,
  keyOfLog,
  keyOfSource,
  makeEventReader,
  readArguments,
  toSelectors,
} from '../decode-event.ts'
import { foldEvents, readValues } from './fold-events.ts'
import { LIST_COLUMNS, toListed } from './list-events.ts'
import type { EventFact } from './sums.ts'

export function makeEventDataset(input: {
  readonly name: string
  readonly sources: readonly EventSource[]
}): Dataset<EventFact> {
  const { name, sources } = input
  const readRows = makeRowReader(sources)
  const waiting = waitingKeys(sources)
  return {
    name,
    selectors: toSelectors(sources),
    decode(log, others) {
      const rows = readRows(log, others)
      return (
        rows
          // One event, even if two mappings match.
          .filter(({ source }) => source === rows[0]?.source)
          .map(({ source, args, row }) => ({ ...source.read(args), log: toLogPlace(log, row) }))
          // Anyone can emit an empty transfer in another's name.
          .filter((fact) => fact.amount > 0n)
      )
    },
    isWaiting: (log) => waiting.size > 0 && waiting.has(keyOfLog(log)),
    apply: (change, facts) => storeEvents(change, name, facts),
    revert: (change, ancestor) => revertEvents(change, name, ancestor),
  }
}

/** Many thousands wait to be stored. */
export function toLogPlace(log: Log, row = 0): EventFact['log'] {
  const { chainId, blockNumber, blockHash, txHash, txIndex, logIndex, timestamp } = log
  const place = { chainId, blockNumber, blockHash, txHash, txIndex, logIndex, timestamp }
  return row === 0 ? place : { ...place, row }
}

export async function storeEvents(
  change: Change,
  dataset: string,
  facts: readonly EventFact[],
): Promise<void> {
  const values = await readValues(
    change,
    facts.map(({ token, amount, log }) => ({ ...log, token, amount })),
  )
  change.changes?.add(dataset, facts, values)
  await storeValued(change.connection, { dataset, facts, values })
}

export async function storeValued(
  connection: Connection,
  input: {
    readonly dataset: string
    readonly facts: readonly EventFact[]
    readonly values: readonly (MicroUsd | null | undefined)[]
  },
): Promise<void> {
  const { dataset, facts, values } = input
  const rows = facts.map((fact, index) => toRow(dataset, fact, values[index]))
  const counted = facts.flatMap((fact, index) =>
    fact.counted ? [{ ...fact, ...fact.log, usd: values[index] ?? null }] : [],
  )
  await connection.insert(EVENTS, rows)
  await foldEvents(connection, dataset, counted, 1n)
}

const EVENTS: BulkInsert = {
  table: 'events',
  columns: {
    dataset: 'text',
    chain_id: 'bigint',
    block_number: 'bigint',
    place: 'bigint',
    block_hash: 'text',
    tx_hash: 'text',
    timestamp_unix: 'bigint',
    kind: 'text',
    token: 'text',
    account: 'text',
    amount: 'text',
    detail: 'text',
    counted: 'bigint',
    valued: 'bigint',
    usd: 'text',
  },
}

function toRow(
  dataset: string,
  fact: EventFact,
  value: MicroUsd | null | undefined,
): readonly SqlValue[] {
  const { log } = fact
  return [
    dataset,
    log.chainId,
    log.blockNumber,
    toPlace(log),
    log.blockHash,
    log.txHash,
    log.timestamp,
    fact.kind,
    fact.token,
    fact.account,
    toStored(fact.amount),
    fact.detail,
    Number(fact.counted),
    Number(value !== undefined),
    value == null ? null : toStored(value),
  ]
}

export async function revertEvents(
  change: Change,
  dataset: string,
  ancestor: Position,
): Promise<void> {
  const { connection, chainId } = change
  const removed = await connection.run(sql`
    delete from events
    where dataset = ${dataset} and chain_id = ${chainId} and block_number > ${ancestor.number}
    returning ${LIST_COLUMNS}, counted`)
  change.changes?.remove(dataset, removed)
  const counted = removed.filter((row) => column.flag(row, 'counted')).map(toListed)
  await foldEvents(connection, dataset, counted, -1n)
}

/** A row that a mapping makes of a log. */
interface MappedRow {
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
      const event = { ...toModuleEvent(log, args), ...logsBeside(code, others) }
      return runCode(code, event).map((own, row) => ({ source, args: { ...args, ...own }, row }))
    })
}

/** Names the logs that wait for the others of their transaction. */
function waitingKeys(sources: readonly EventSource[]): ReadonlySet<string> {
  return new Set(
    sources.flatMap((source) => {
      const companions = source.code?.companions ?? []
      return companions.length === 0 ? [] : [source, ...companions].map(keyOfSource)
    }),
  )
}

function toModuleEvent(log: Log, args: EventArguments): ModuleEvent {
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
  const ordered = logs.toSorted((a, b) => toPlace(a) - toPlace(b))
  return {
    logs: ordered.flatMap((log) =>
      nameLog(fitting(byKey.get(keyOfLog(log)) ?? [], log).at(-1), log),
    ),
  }
}

/** Skips logs of the same topic whose shape does not fit the event. */
function nameLog(companion: MappingCode['companions'][number] | undefined, log: Log) {
  if (companion === undefined) return []
  try {
    const args = readArguments(companion, log)
    return args === undefined ? [] : [{ ...toModuleEvent(log, args), name: companion.event.name }]
  } catch (error) {
    if (error instanceof DecodeError) return []
    throw error
  }
}
