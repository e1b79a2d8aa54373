import type { LogFilter } from '#chain/log-filter.ts'
import { matches } from '#chain/verify-logs.ts'
import type { Address, Hash } from '#domain/address.ts'
import type { Log } from '#domain/chain.ts'
import { groupBy } from '#lib/group-by.ts'

/** Which logs a dataset wants: one event of one contract, perhaps with certain indexed arguments. */
export interface Selector {
  readonly chainId: number
  readonly address: Address
  readonly topic0: Hash
  /** Accepted values of the topics after the first; left out where any value will do. */
  readonly arguments?: LogFilter['topics']
}

/** Makes the test whether a log is among those that the selectors name. */
export function selectLogs(selectors: readonly Selector[]): (log: Log) => boolean {
  const wanted = groupBy(selectors, (each) => `${each.chainId}|${each.address}|${each.topic0}`)
  return (log) =>
    wanted
      .get(`${log.chainId}|${log.address}|${log.topics[0]}`)
      ?.some((each) => each.arguments === undefined || matches(toFilter(each), log)) ?? false
}

function toFilter(selector: Selector): LogFilter {
  return {
    addresses: [selector.address],
    topics: [[selector.topic0], ...(selector.arguments ?? [])],
  }
}

/**
 * The fewest filters that bring every wanted log of a chain: one for all events whose arguments do
 * not matter, one more for each set of wanted arguments.
 */
export function filtersOf(
  datasets: readonly { readonly selectors: readonly Selector[] }[],
  chainId: number,
): readonly LogFilter[] {
  const selectors = datasets
    .flatMap((dataset) => dataset.selectors)
    .filter((each) => each.chainId === chainId)
  const groups = groupBy(selectors, (each) => JSON.stringify(each.arguments ?? []))
  return [...groups.values()].map((group) => ({
    addresses: [...new Set(group.map((each) => each.address))],
    topics: [[...new Set<Hash>(group.map((each) => each.topic0))], ...(group[0]?.arguments ?? [])],
    pairs: group.map(({ address, topic0 }) => ({ address, topic0 })),
  }))
}
