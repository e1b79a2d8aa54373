import type { EventSource } from '#chains/ecosystem/event-source.ts'
import type { Log } from '#domain/chain.ts'
import type { JsonMembers } from '#lib/json.ts'
import type { Dataset } from '../dataset.ts'
import { makeEventReader, selectorsOf } from '../decode-event.ts'
import type { EventFact } from './event.ts'
import { forgetMatched, noteMatched } from './matched-mappings.ts'
import { forgetEvents, revertEvents, storeEvents } from './store-events.ts'

export function makeEventDataset(input: {
  readonly name: string
  /** The list in the ecosystem file. */
  readonly part: string
  readonly byAccount: boolean
  readonly sources: readonly EventSource[]
}): Dataset<EventFact> {
  const readEvent = makeEventReader(input.sources)
  const matched = new Set<EventSource>()
  return {
    name: input.name,
    selectors: selectorsOf(input.sources),
    builtFrom: (chainId) =>
      input.sources.flatMap((source, index) => {
        if (source.chain.id !== chainId) return []
        const facts = { ...eventFacts(source), ...source.facts }
        return [{ field: `${input.part}[${index}]`, facts }]
      }),
    // One event, even if two mappings match.
    decode: (log) =>
      readEvent(log)
        .slice(0, 1)
        .map(({ source, args }) => {
          matched.add(source)
          return { ...source.read(args), log: logPlaceOf(log) }
        })
        // Anyone can emit an empty transfer in another's name.
        .filter((fact) => fact.amount > 0n),
    async apply(change, facts) {
      const ofChain = [...matched].filter(({ chain }) => chain.id === change.chainId)
      await noteMatched(change.connection, input.name, ofChain)
      await storeEvents(change, input, facts)
    },
    revert: (change, ancestor) => revertEvents(change, input, ancestor),
    async forget(change) {
      await forgetMatched(change.connection, input.name, change.chainId)
      await forgetEvents(change, input)
    },
  }
}

export function eventFacts({ address, event, topic0, token, ...source }: EventSource): JsonMembers {
  const inputs = event.inputs.map(({ name = '', type, indexed = false }) => [name, type, indexed])
  return {
    address,
    topic0,
    event: [event.name, ...inputs],
    where: sortedValues(source.where),
    whereNot: sortedValues(source.whereNot),
    token: token?.symbol ?? null,
  }
}

function sortedValues(where: EventSource['where']): JsonMembers {
  return Object.fromEntries([...where].map(([name, values]) => [name, [...values].sort()] as const))
}

/** Many thousands wait to be stored. */
export function logPlaceOf(log: Log): EventFact['log'] {
  const { chainId, blockNumber, blockHash, txHash, txIndex, logIndex, timestamp } = log
  return { chainId, blockNumber, blockHash, txHash, txIndex, logIndex, timestamp }
}
