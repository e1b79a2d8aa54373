import type { EventSource } from '#chains/ecosystem/event-source.ts'
import type { Log } from '#domain/chain.ts'
import type { Dataset } from '../dataset.ts'
import { selectorsOf } from '../decode-event.ts'
import { type MappedRow, makeRowReader, makeWaiting, transactionOf } from './row-reader.ts'
import { revertEvents, storeEvents } from './store-events.ts'
import type { EventFact } from './sums.ts'

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

/** Many thousands wait to be stored. */
export function logPlaceOf(log: Log, row = 0): EventFact['log'] {
  const { chainId, blockNumber, blockHash, txHash, txIndex, logIndex, timestamp } = log
  const place = { chainId, blockNumber, blockHash, txHash, txIndex, logIndex, timestamp }
  return row === 0 ? place : { ...place, row }
}
