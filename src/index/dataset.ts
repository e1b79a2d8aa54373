import type { Address, Hash } from '#base/address.ts'
import { type Log, toPlace } from '#base/chain.ts'
import type { LogFilter, Position, SourceLog } from '#chain/chain-source.ts'
import type { Connection } from '#db/engine.ts'
import { UnlistedTokenError } from '#ecosystem/event-arguments.ts'
import type { Origins } from '#ecosystem/event-source.ts'
import type { FoundContracts } from '#ecosystem/found-contracts.ts'
import type { PriceBook } from './event.ts'
import type { Changes } from './feed.ts'

export type { Position } from '#chain/chain-source.ts'

export interface Change {
  readonly connection: Connection
  readonly chainId: number
  readonly finalizedNumber: number
  /** In history: what happened before is too old for any window by the time the head is reached. */
  readonly hoursFromUnix?: number
  /** Collects changes for the feed, which follows the head only. */
  readonly changes?: Changes | undefined
  readonly prices: PriceBook
}

export interface Dataset<Fact> {
  readonly name: string
  readonly selectors: readonly Selector[]
  /**
   * Returns nothing if the log does not match after all; throws if it is unreadable. Must be pure. `others` has what
   * else waits of the transaction.
   */
  decode(log: Log, others: readonly Log[]): readonly Fact[]
  /** Whether a log is decoded once all logs of its transaction are read. */
  isWaiting?(log: Log): boolean
  /** Factories and feeds whose contracts this dataset looks up; only `contractsDataset` has it. */
  readonly origins?: Origins
  /** Learns contracts from logs before they are stored; `load` resets to what is stored. */
  learn?(logs: readonly Log[]): void
  /** Makes what it holds in memory that of the register. */
  load?(connection: Connection, chainId: number): Promise<void>
  /** Facts come in chain order. */
  apply(change: Change, facts: readonly Fact[]): Promise<void>
  /** Apply, revert, apply equals apply. */
  revert(change: Change, ancestor: Position): Promise<void>
  /** At the end of each transaction: what finality allows, such as dropping what only reverts needed. */
  finalize?(change: Change): Promise<void>
}

/** Hides the fact type, so that all datasets fit into one list. */
export interface AnyDataset extends Omit<Dataset<never>, 'decode' | 'isWaiting' | 'apply'> {
  /** Decodes now, stores later. */
  stage(report: ReportLog): Staged
}

export interface LogProblem {
  /** `unlisted`: about a token that the file does not list, which anyone can cause. */
  readonly kind: 'unreadable' | 'unlisted'
  readonly reason: string
}

/** A log that adds no fact. */
type ReportLog = (log: Log, problem: LogProblem) => void

interface Staged {
  take(logs: readonly Log[]): void
  /** Decodes what waited, too. */
  apply(change: Change): Promise<void>
}

export interface Anomaly {
  readonly log: Log
  readonly dataset: string
  readonly problem: LogProblem
}

/** Decoded logs of all datasets, to be stored at once. The anomalies are whole once all are applied. */
export interface StagedLogs {
  readonly staged: readonly Staged[]
  readonly anomalies: readonly Anomaly[]
}

export function stageAll(datasets: readonly AnyDataset[]): StagedLogs {
  const anomalies: Anomaly[] = []
  const staged = datasets.map(({ name: dataset, stage }) =>
    stage((log, problem) => anomalies.push({ log, dataset, problem })),
  )
  return { staged, anomalies }
}

interface PlacedFact<Fact> {
  readonly block: number
  readonly place: number
  readonly fact: Fact
}

export function toAnyDataset<Fact>(dataset: Dataset<Fact>): AnyDataset {
  const { decode, isWaiting, apply, ...rest } = dataset
  const isWanted = selectLogs(dataset.selectors)
  return {
    ...rest,
    stage(report) {
      const facts: PlacedFact<Fact>[] = []
      const later: Log[] = []
      const add = (log: Log, others: readonly Log[]) => {
        try {
          for (const fact of decode(log, others))
            facts.push({ block: log.blockNumber, place: toPlace(log), fact })
        } catch (error) {
          const kind = error instanceof UnlistedTokenError ? 'unlisted' : 'unreadable'
          report(log, { kind, reason: error instanceof Error ? error.message : String(error) })
        }
      }
      return {
        take(logs) {
          for (const log of logs.filter(isWanted)) {
            if (isWaiting?.(log) === true) later.push(log)
            else add(log, [])
          }
        },
        async apply(change) {
          const transactions = Map.groupBy(later.splice(0), nameTransaction)
          for (const logs of transactions.values()) for (const log of logs) add(log, logs)
          // Filters bring theirs one after another.
          const ordered = facts.sort((a, b) => a.block - b.block || a.place - b.place)
          if (ordered.length > 0)
            await apply(
              change,
              ordered.map(({ fact }) => fact),
            )
        },
      }
    },
  }
}

function nameTransaction({ blockHash, txHash }: Log): string {
  return `${blockHash} ${txHash}`
}

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
  /** Tests logs of found contracts. */
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
 * Builds filters for whole blocks, which may hold logs of contracts first found in them. The bloom is checked only for
 * contracts that are known already.
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
