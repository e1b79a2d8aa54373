import type { Address, Hash } from '#base/address.ts'
import type { Log } from '#base/chain.ts'
import { type LogColumns, type PairTable, tailOf } from '#chain/columns/log-columns.ts'
import { matches } from '#chain/follow.ts'
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

interface LogSelection {
  ofLogs(logs: readonly Log[]): readonly Log[]
  ofColumns(columns: LogColumns): readonly Log[]
  isWanted(columns: LogColumns, index: number): boolean
}

export function selectLogs(selectors: readonly Selector[]): LogSelection {
  const wanted = Map.groupBy(selectors, keyOfSelector)
  const selectorsFor = (chainId: number, pair: { readonly address: Address; topic0: string }) => {
    const ofAny = wanted.get(keyOf(chainId, { ...pair, address: ANY })) ?? []
    const found = ofAny.filter(({ found }) => found?.countsFrom(pair.address) !== undefined)
    return [...(wanted.get(keyOf(chainId, pair)) ?? []), ...found]
  }
  const wants = (log: Log) =>
    selectorsFor(log.chainId, { address: log.address, topic0: log.topics[0] ?? '0x' }).some(
      (each) =>
        each.found?.counts(log.address, log.blockNumber) !== false &&
        (each.arguments === undefined || matches(toFilter(each, log.address), log)),
    )
  const byTable = new WeakMap<PairTable, readonly ColumnTest[]>()
  const testsOf = ({ table, chainId }: LogColumns) => {
    const known = byTable.get(table)
    if (known !== undefined) return known
    const tests = table.pairs.map((each) => columnTest(selectorsFor(chainId, each), each.address))
    byTable.set(table, tests)
    return tests
  }
  return {
    ofLogs: (logs) => logs.filter(wants),
    ofColumns(columns) {
      const tests = testsOf(columns)
      const { count, pair } = columns
      const picked: Log[] = []
      for (let index = 0; index < count; index += 1)
        if (tests[pair[index] ?? 0]?.(columns, index) === true) picked.push(columns.log(index))
      return picked
    },
    isWanted: (columns, index) =>
      testsOf(columns)[columns.pair[index] ?? 0]?.(columns, index) === true,
  }
}

type ColumnTest = (columns: LogColumns, index: number) => boolean

/** Stands for the contracts that were found. */
const ANY = '*'

function keyOfSelector({ chainId, address, topic0, found }: Selector): string {
  return keyOf(chainId, { address: found === undefined ? address : ANY, topic0 })
}

function keyOf(chainId: number, of: { readonly address: string; readonly topic0: string }): string {
  return `${chainId}|${of.address}|${of.topic0}`
}

function columnTest(selectors: readonly Selector[], address: Address): ColumnTest {
  if (selectors.length === 0) return () => false
  const isAll = (each: Selector) => each.arguments === undefined && each.found === undefined
  if (selectors.some(isAll)) return () => true
  const filters = selectors.map((each) => [
    ...(each.arguments ?? []).map(topicTest),
    ...(each.found === undefined ? [] : [blockTest(each.found.countsFrom(address))]),
  ])
  // Runs for every transfer.
  return (columns, index) => {
    for (const tests of filters) if (meetsAll(tests, columns, index)) return true
    return false
  }
}

type TopicTest = (columns: LogColumns, index: number, topic: number) => boolean

function meetsAll(tests: readonly TopicTest[], columns: LogColumns, index: number): boolean {
  for (let topic = 0; topic < tests.length; topic += 1)
    if (tests[topic]?.(columns, index, topic + 1) !== true) return false
  return true
}

/** The tail decides most comparisons without a string. */
function topicTest(values: readonly Hash[] | null): TopicTest {
  if (values === null) return () => true
  const wanted = new Set(values)
  const tails = new Set(values.map(tailOf))
  return (columns, index, topic) =>
    tails.has(columns.topicTail(index, topic)) && wanted.has(columns.topic(index, topic))
}

function blockTest(from = Number.POSITIVE_INFINITY): TopicTest {
  return (columns, index) => (columns.blockNumber[index] ?? 0) >= from
}

function toFilter(selector: Selector, address: Address): LogFilter {
  return {
    addresses: [address],
    topics: [[selector.topic0], ...(selector.arguments ?? [])],
  }
}

/**
 * There are few: one per set of arguments. They may still match the same log, which the readers take from the
 * first filter only. Up to `NAMED_MAX` contracts that are found are named, logs of others are filtered here.
 */
export function filtersOf(
  datasets: readonly { readonly selectors: readonly Selector[] }[],
  chainId: number,
): readonly LogFilter[] {
  const selectors = selectorsOn(datasets, chainId)
  const [named, others] = partition(selectors, isNamedOf(selectors))
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
function isNamedOf(selectors: readonly Selector[]): (selector: Selector) => boolean {
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
export function headFiltersOf(
  datasets: readonly { readonly selectors: readonly Selector[] }[],
  chainId: number,
): readonly LogFilter[] {
  const selectors = selectorsOn(datasets, chainId)
  const [named, others] = partition(selectors, ({ found }) => found === undefined)
  const isNamed = isNamedOf(selectors)
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
