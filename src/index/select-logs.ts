import type { Address, Hash } from '#base/address.ts'
import type { SourceLog } from '#chain/chain-source.ts'
import type { LogFilter } from '#chain/log-filter.ts'
import type { FoundContracts } from '#ecosystem/found-contracts.ts'

export interface Selector {
  readonly chainId: number
  readonly address: Address
  /** Their logs are selected, instead of those of `address`. */
  readonly found?: FoundContracts | undefined
  readonly topic0: Hash
  /** Topics after the first; absent if any value will do. */
  readonly arguments?: LogFilter['topics']
}

type LogTest = (log: SourceLog) => boolean

interface TopicTests {
  readonly byAddress: ReadonlyMap<string, readonly LogTest[]>
  /** For contracts that are found. */
  readonly ofAny: readonly LogTest[]
}

/** Returns whether a log is selected. It runs for every transfer. */
export function selectLogs(selectors: readonly Selector[]): LogTest {
  const chains = new Map(
    [...Map.groupBy(selectors, ({ chainId }) => chainId)].map(([chainId, own]) => [
      chainId,
      new Map<string, TopicTests>(
        [...Map.groupBy(own, ({ topic0 }) => topic0)].map(([topic0, group]) => [
          topic0,
          toTests(group),
        ]),
      ),
    ]),
  )
  return (log) => {
    const tests = chains.get(log.chainId)?.get(log.topics[0] ?? '')
    if (tests === undefined) return false
    const { byAddress, ofAny } = tests
    const passes = (test: LogTest) => test(log)
    return byAddress.get(log.address)?.some(passes) === true || ofAny.some(passes)
  }
}

function toTests(selectors: readonly Selector[]): TopicTests {
  const [ofAny, named] = partition(selectors, ({ found }) => found !== undefined)
  const byAddress = Map.groupBy(named, ({ address }) => address)
  return {
    byAddress: new Map([...byAddress].map(([address, group]) => [address, group.map(toTest)])),
    ofAny: ofAny.map(toTest),
  }
}

function toTest({ arguments: values = [], found }: Selector): LogTest {
  const sets = values.map((list) => (list === null ? null : new Set<string>(list)))
  return ({ address, blockNumber, topics }) =>
    found?.counts(address, blockNumber) !== false &&
    sets.every((set, place) => set === null || set.has(topics[place + 1] ?? ''))
}

/** Stands for the contracts that were found. */
const ANY = '*'

function keyOfSelector({ chainId, address, topic0, found }: Selector): string {
  return `${chainId}|${found === undefined ? address : ANY}|${topic0}`
}

/**
 * There are few: one per set of arguments. They may still match the same log, which the readers take from the
 * first filter only. Up to `NAMED_MAX` contracts that are found are named, logs of others are filtered here.
 */
export function buildFilters(
  datasets: readonly { readonly selectors: readonly Selector[] }[],
  chainId: number,
): readonly LogFilter[] {
  const selectors = selectorsOn(datasets, chainId)
  const [named, others] = partition(selectors, namedAmong(selectors))
  return [
    ...groupByArguments(named.flatMap(selectorPerContract)).map(toNamed),
    ...groupByArguments(others).map((group) => ({
      ...toNamed(group.flatMap(selectorPerContract)),
      addresses: null,
    })),
  ]
}

function partition<T>(
  items: readonly T[],
  isFirst: (item: T) => boolean,
): readonly [readonly T[], readonly T[]] {
  return [items.filter(isFirst), items.filter((each) => !isFirst(each))]
}

/** Endpoints take about this many addresses. */
const NAMED_MAX = 500

/** Whether the contracts of a selector are named: those of as many origins as fit, the smallest first. */
function namedAmong(selectors: readonly Selector[]): (selector: Selector) => boolean {
  const sizes = new Map(selectors.flatMap(({ found }) => (found ? [[found.key, found.size]] : [])))
  let left = NAMED_MAX
  for (const [key, size] of [...sizes].sort(([, a], [, b]) => a - b)) {
    left -= size
    if (left < 0) sizes.delete(key)
  }
  return ({ found }) => found === undefined || sizes.has(found.key)
}

/**
 * For whole blocks, which may hold logs of contracts that are found in them. The bloom tells which logs of those that are
 * known are to be expected.
 */
export function buildHeadFilters(
  datasets: readonly { readonly selectors: readonly Selector[] }[],
  chainId: number,
): readonly LogFilter[] {
  const selectors = selectorsOn(datasets, chainId)
  const [named, others] = partition(selectors, ({ found }) => found === undefined)
  const isNamed = namedAmong(selectors)
  const ofAny = groupByArguments(others).map((group) => ({
    ...toNamed(group.filter(isNamed).flatMap(selectorPerContract)),
    topics: toNamed(group).topics,
    addresses: null,
  }))
  return [...groupByArguments(named).map(toNamed), ...ofAny]
}

function selectorsOn(
  datasets: readonly { readonly selectors: readonly Selector[] }[],
  chainId: number,
): readonly Selector[] {
  return datasets.flatMap(({ selectors }) => selectors).filter((each) => each.chainId === chainId)
}

function selectorPerContract({ found, ...selector }: Selector): readonly Selector[] {
  if (found === undefined) return [selector]
  return found.addresses.map((address) => ({ ...selector, address }))
}

type Group = readonly Selector[]

function groupByArguments(selectors: Group): readonly Group[] {
  const keyed = (each: Selector) => `${keyOfSelector(each)}|${each.found?.key}`
  const needed = [...Map.groupBy(selectors, keyed).values()].flatMap((group) =>
    group.filter((each, index) => !group.some((other, at) => replaces(other, each, at < index))),
  )
  return [...Map.groupBy(needed, (each) => JSON.stringify(each.arguments ?? [])).values()]
}

function toNamed(group: Group): LogFilter {
  return {
    addresses: [...new Set(group.map((each) => each.address))],
    topics: [[...new Set<Hash>(group.map((each) => each.topic0))], ...(group[0]?.arguments ?? [])],
    pairs: group.map(({ address, topic0 }) => ({ address, topic0 })),
  }
}

/** Whether it matches all that another selector of the same event does; of equals, the first stays. */
function replaces(selector: Selector, other: Selector, isBefore: boolean): boolean {
  return covers(selector, other) && (isBefore || !covers(other, selector))
}

function covers({ arguments: wide = [] }: Selector, { arguments: narrow = [] }: Selector): boolean {
  return wide.every((values, position) => {
    const others = narrow[position]
    return values === null || others?.every((value) => values.includes(value)) === true
  })
}

/** The selectors that a filter stands for. */
export function selectorsIn(
  { pairs = [], topics }: LogFilter,
  chainId: number,
): readonly Selector[] {
  return pairs.map((pair) => ({ chainId, ...pair, arguments: topics.slice(1) }))
}
