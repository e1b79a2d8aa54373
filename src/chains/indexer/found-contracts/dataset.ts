import { DecodeError } from '#chains/ecosystem/event-arguments.ts'
import type { Factory, Origins } from '#chains/ecosystem/event-source.ts'
import type { Address } from '#domain/address.ts'
import type { Log } from '#domain/chain.ts'
import type { Dataset } from '../dataset.ts'
import { keyOfLog, keyOfSource, readContract } from '../decode-event.ts'
import { deleteFoundAbove, type FoundContract, insertFound, loadFound } from './table.ts'

/**
 * Contracts that others find their logs by, so this comes before all other datasets, and follows the head always. A log
 * that does not fit is an anomaly of the mappings that name the factory.
 */
export function contractsDataset(origins: Origins): Dataset<FoundContract> {
  const { factories } = origins
  const sets = [...factories, ...origins.emitters].map(({ found }) => found)
  const setsOf = (chainId: number) => sets.filter((set) => set.chainId === chainId)
  const madeOn = (chainId: number) =>
    factories.flatMap(({ found }) => (found.chainId === chainId ? [found] : []))
  const byKey = Map.groupBy(factories, ({ event }) => keyOfSource(event))
  const decode = (log: Log): readonly FoundContract[] =>
    (byKey.get(keyOfLog(log)) ?? []).flatMap((factory) => {
      const contract = findContract(factory, log)
      if (contract === undefined) return []
      return [{ found: factory.found, contract, block: log.blockNumber }]
    })
  return {
    name: 'contracts',
    origins,
    selectors: factories.map(({ event: { chain, address, topic0 } }) => ({
      chainId: chain.id,
      address,
      topic0,
    })),
    decode,
    learn(logs) {
      for (const [found, own] of Map.groupBy(logs.flatMap(decode), (each) => each.found))
        found.add(own.map(({ contract, block }) => [contract, block]))
    },
    load: (connection, chainId) => loadFound(connection, setsOf(chainId)),
    apply: ({ connection }, facts) => insertFound(connection, facts),
    async revert({ connection, chainId }, { number }) {
      const made = madeOn(chainId)
      await deleteFoundAbove(connection, made, number)
      for (const set of made) set.forgetAbove(number)
    },
  }
}

/** Undefined if the log does not fit. */
export function findContract(
  factory: Factory,
  log: Parameters<typeof readContract>[1],
): Address | undefined {
  try {
    return readContract(factory, log)
  } catch (error) {
    if (!(error instanceof DecodeError)) throw error
    return undefined
  }
}
