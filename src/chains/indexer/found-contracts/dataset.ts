import { argument, DecodeError } from '#chains/ecosystem/event-arguments.ts'
import type { Factory, Origins } from '#chains/ecosystem/event-source.ts'
import type { Address } from '#domain/address.ts'
import type { Dataset } from '../dataset.ts'
import { readArguments } from '../decode-event.ts'
import {
  deleteFactories,
  deleteFoundAbove,
  type FoundContract,
  insertFound,
  loadFound,
} from './table.ts'

/**
 * Contracts that others find their logs by. Decoding a factory's log makes its contract known at once, so this
 * comes before all other datasets, and follows the head always.
 */
export function contractsDataset(origins: Origins): Dataset<FoundContract> {
  const { factories } = origins
  const sets = [...factories, ...origins.emitters].map(({ found }) => found)
  return {
    name: 'contracts',
    origins,
    selectors: factories.map(({ event: { chain, address, topic0 } }) => ({
      ...{ chainId: chain.id, address, topic0 },
    })),
    // What is found depends on the mapping, whose own part names it.
    builtFrom: () => [],
    decode: (log) =>
      factories.flatMap((factory) => {
        const { found, event } = factory
        const { chain, address, topic0 } = event
        if (chain.id !== log.chainId || address !== log.address || topic0 !== log.topics[0])
          return []
        const contract = readContract(factory, log)
        if (contract === undefined) return []
        const { blockNumber: block } = log
        found.add(contract, block)
        return [{ origin: found.key, contract, block }]
      }),
    load: (connection, chainId, historyTo) =>
      loadFound(
        connection,
        sets.filter((set) => set.chainId === chainId),
        historyTo,
      ),
    apply: ({ connection, chainId }, found) => insertFound(connection, chainId, found),
    async revert({ connection, chainId }, { number }) {
      await deleteFoundAbove(connection, chainId, number)
      for (const set of sets) if (set.chainId === chainId) set.forgetAbove(number)
    },
    async forget({ connection, chainId }) {
      await deleteFoundAbove(connection, chainId, -1)
      await deleteFactories(connection, chainId)
    },
  }
}

/** Undefined if the log does not fit. */
export function readContract(
  { event, argument: name }: Factory,
  log: Parameters<typeof readArguments>[1],
): Address | undefined {
  try {
    const args = readArguments(event, log)
    return args && argument.address(args, name)
  } catch (error) {
    if (!(error instanceof DecodeError)) throw error
    return undefined
  }
}
