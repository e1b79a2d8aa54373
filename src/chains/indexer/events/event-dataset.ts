import { describeEvent } from '#chains/ecosystem/emitted-event.ts'
import type { EventSource } from '#chains/ecosystem/event-source.ts'
import type { MappingCode } from '#chains/ecosystem/mapping-code.ts'
import type { Log } from '#domain/chain.ts'
import type { JsonMembers } from '#lib/json.ts'
import type { Dataset } from '../dataset.ts'
import { selectorsOf } from '../decode-event.ts'
import type { EventFact } from './event.ts'
import { type MappedRow, makeRowReader, makeWaiting, transactionOf } from './row-reader.ts'
import { revertEvents, storeEvents } from './store-events.ts'

export function makeEventDataset(input: {
  readonly name: string
  /** The list in the ecosystem file. */
  readonly part: string
  readonly byAccount: boolean
  readonly sources: readonly EventSource[]
}): Dataset<EventFact> {
  const readRows = makeRowReader(input.sources)
  const isWaiting = makeWaiting(input.sources)
  // One event, even if two mappings match.
  const toFacts = (log: Log, [first, ...others]: readonly MappedRow[]) => {
    if (first === undefined) return []
    const { source } = first
    return (
      [first, ...others.filter((each) => each.source === source)]
        .map(({ args, row }) => ({ ...source.read(args), log: logPlaceOf(log, row) }))
        // Anyone can emit an empty transfer in another's name.
        .filter((fact) => fact.amount > 0n)
    )
  }
  return {
    name: input.name,
    selectors: selectorsOf(input.sources),
    builtFrom: (chainId) =>
      input.sources.flatMap((source, index) => {
        if (source.chain.id !== chainId) return []
        const facts = { ...eventFacts(source), ...source.facts }
        const { whereField: where } = source
        const field = `${input.part}[${index}]`
        return [
          { field, facts, ...(where !== undefined && { fieldOf: { where, whereNot: where } }) },
        ]
      }),
    decode: (log) => toFacts(log, readRows(log, [])),
    ...(isWaiting && {
      together: {
        isWaiting,
        decode(logs) {
          const transactions = Map.groupBy(logs, transactionOf)
          return (log) => toFacts(log, readRows(log, transactions.get(transactionOf(log)) ?? []))
        },
      },
    }),
    apply: (change, facts) => storeEvents(change, input, facts),
    revert: (change, ancestor) => revertEvents(change, input, ancestor),
  }
}

export function eventFacts({ address, event, topic0, token, ...source }: EventSource): JsonMembers {
  return {
    address,
    topic0,
    event: describeEvent(event),
    where: sortedValues(source.where),
    whereNot: sortedValues(source.whereNot),
    token: token?.symbol ?? null,
    ...(source.made && { contracts: source.made.found.key }),
    ...(source.code && codeFacts(source.code)),
  }
}

function codeFacts({ digest, companions }: MappingCode): JsonMembers {
  const beside = companions.map(({ address, event }) => [address, describeEvent(event)])
  return { rows: digest, ...(beside.length > 0 && { with: beside }) }
}

function sortedValues(where: EventSource['where']): JsonMembers {
  return Object.fromEntries([...where].map(([name, values]) => [name, [...values].sort()] as const))
}

/** Many thousands wait to be stored. */
export function logPlaceOf(log: Log, row = 0): EventFact['log'] {
  const { chainId, blockNumber, blockHash, txHash, txIndex, logIndex, timestamp } = log
  const place = { chainId, blockNumber, blockHash, txHash, txIndex, logIndex, timestamp }
  return row === 0 ? place : { ...place, row }
}
