import { type LogColumns, tailOf } from '#chains/chain/columns/log-columns.ts'
import type { PairTable } from '#chains/chain/columns/pair-table.ts'
import type { LogFilter } from '#chains/chain/log-filter.ts'
import { matches } from '#chains/chain/verify-logs.ts'
import type { Address, Hash } from '#domain/address.ts'
import type { Log } from '#domain/chain.ts'

export interface Selector {
  readonly chainId: number
  readonly address: Address
  readonly topic0: Hash
  /** Topics after the first; absent if any value will do. */
  readonly arguments?: LogFilter['topics']
}

export interface LogSelection {
  ofLogs(logs: readonly Log[]): readonly Log[]
  ofColumns(columns: LogColumns): readonly Log[]
  isWanted(columns: LogColumns, index: number): boolean
}

export function selectLogs(selectors: readonly Selector[]): LogSelection {
  const wanted = Map.groupBy(selectors, (each) => keyOf(each.chainId, each))
  const wants = (log: Log) =>
    wanted
      .get(keyOf(log.chainId, { address: log.address, topic0: log.topics[0] ?? '0x' }))
      ?.some((each) => each.arguments === undefined || matches(toFilter(each), log)) ?? false
  const byTable = new WeakMap<PairTable, readonly ColumnTest[]>()
  const testsOf = ({ table, chainId }: LogColumns) => {
    const known = byTable.get(table)
    if (known !== undefined) return known
    const tests = table.pairs.map((each) => columnTest(wanted.get(keyOf(chainId, each)) ?? []))
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

function keyOf(chainId: number, of: { readonly address: string; readonly topic0: string }): string {
  return `${chainId}|${of.address}|${of.topic0}`
}

function columnTest(selectors: readonly Selector[]): ColumnTest {
  if (selectors.length === 0) return () => false
  if (selectors.some((each) => each.arguments === undefined)) return () => true
  const filters = selectors.map((each) => (each.arguments ?? []).map(topicTest))
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

function toFilter(selector: Selector): LogFilter {
  return {
    addresses: [selector.address],
    topics: [[selector.topic0], ...(selector.arguments ?? [])],
  }
}

/**
 * There are few: one per set of arguments. They may still match the same log, which the readers take from the
 * first filter only.
 */
export function filtersOf(
  datasets: readonly { readonly selectors: readonly Selector[] }[],
  chainId: number,
): readonly LogFilter[] {
  const selectors = datasets
    .flatMap((dataset) => dataset.selectors)
    .filter((each) => each.chainId === chainId)
  const needed = [...Map.groupBy(selectors, (each) => keyOf(chainId, each)).values()].flatMap(
    (group) =>
      group.filter((each, index) => !group.some((other, at) => replaces(other, each, at < index))),
  )
  const groups = Map.groupBy(needed, (each) => JSON.stringify(each.arguments ?? []))
  return [...groups.values()].map((group) => ({
    addresses: [...new Set(group.map((each) => each.address))],
    topics: [[...new Set<Hash>(group.map((each) => each.topic0))], ...(group[0]?.arguments ?? [])],
    pairs: group.map(({ address, topic0 }) => ({ address, topic0 })),
  }))
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
