import { setImmediate } from 'node:timers/promises'
import type { BlockClock } from '#chains/chain/block-clock.ts'
import type { ChainSource, HistoryPart } from '#chains/chain/chain-source.ts'
import type { LogColumns } from '#chains/chain/columns/log-columns.ts'
import { dateLogs } from '#chains/chain/date-logs.ts'
import { RpcError } from '#chains/chain/rpc-error.ts'
import type { BlockHeader, BlockRef, Log } from '#domain/chain.ts'
import { allEnded } from '#lib/all-ended.ts'
import { chunks } from '#lib/chunks.ts'
import type { AnyDataset, HistoryFold, LogProblem, Staged, Store } from '../dataset.ts'
import type { Anomaly, Segment } from '../segment.ts'
import { selectLogs } from '../select-logs.ts'

export interface SegmentDeps {
  readonly source: ChainSource
  readonly blockClock: BlockClock
  /** A stored final block that the node must share. */
  anchor(): Promise<BlockRef | undefined>
  onRead(progress: { readonly number: number; readonly logs: number }): void
}

export interface SegmentInput {
  readonly from: number
  /** The proven block below `from`; undefined at the start. */
  readonly after: Promise<BlockRef | undefined>
  readonly datasets: readonly AnyDataset[]
  readonly folds: ReadonlyMap<AnyDataset, HistoryFold>
  /** From when on folds take hours; none unless given. */
  readonly hoursFromUnix?: number
}

const LOGS_AT_ONCE = 256

/** One batch of 50, so that one node answers them all. */
const HEADERS_AT_ONCE = 45

/** Came with logs; its header must confirm it. */
interface ClaimedBlock extends BlockRef {
  readonly host: string
  readonly timestamp: number | undefined
}

/** A segment that was read and is not proven yet. */
export class UnprovenSegment {
  readonly from: number
  readonly #after: Promise<BlockRef | undefined>
  readonly #deps: SegmentDeps
  readonly #folds: SegmentInput['folds']
  readonly #hoursFromUnix: number
  readonly #staged: readonly Staged[]
  readonly #anomalies: Anomaly[] = []
  readonly #foldedAnomalies: Anomaly[] = []
  readonly #exact: ReturnType<typeof selectLogs>
  #logs = 0
  #answers = 0
  readonly #claimedBlocks: ClaimedBlock[] = []

  constructor(deps: SegmentDeps, input: SegmentInput) {
    this.#deps = deps
    this.#folds = input.folds
    this.#hoursFromUnix = input.hoursFromUnix ?? Number.POSITIVE_INFINITY
    this.from = input.from
    this.#after = input.after
    this.#staged = input.datasets.map((dataset) =>
      dataset.stage(reportInto(this.#anomalies, dataset)),
    )
    this.#exact = selectLogs(input.datasets.flatMap((dataset) => dataset.selectors))
  }

  get size(): number {
    return this.#staged.reduce((sum, staged) => sum + staged.size, 0)
  }

  get answers(): number {
    return this.#answers
  }

  get claimedBlocks(): number {
    return this.#claimedBlocks.length
  }

  async take({ columns, end, host }: HistoryPart, to: number): Promise<void> {
    const isUndated = columns.timestamp.subarray(0, columns.count).includes(0)
    if (isUndated)
      await dateLogs(this.#deps.blockClock, {
        columns,
        exact: (index) => this.#exact.isWanted(columns, index),
        hoursFromUnix: this.#hoursFromUnix,
      })
    this.#keepLast(columns, host, isUndated)
    if (end !== undefined) this.#claimedBlocks.push({ ...end, host, timestamp: undefined })
    for (let from = 0; from < columns.count; from += LOGS_AT_ONCE) {
      await setImmediate()
      this.#read(columns.slice(from, Math.min(from + LOGS_AT_ONCE, columns.count)), host)
    }
    this.#deps.onRead({ number: to, logs: columns.count })
  }

  #keepLast(columns: LogColumns, host: string, isUndated: boolean): void {
    const last = columns.count - 1
    if (last < 0) return
    this.#answers += 1
    this.#claimedBlocks.push({
      host,
      number: columns.blockNumber[last] ?? 0,
      hash: this.#readBy(host, () => columns.blockHash(last)),
      timestamp: isUndated ? undefined : columns.timestamp[last],
    })
  }

  #read(columns: LogColumns, host: string): void {
    this.#logs += columns.count
    this.#readBy(host, () => {
      for (const staged of this.#staged) staged.takeColumns(columns)
      for (const [dataset, fold] of this.#folds)
        fold.take(columns, reportInto(this.#foldedAnomalies, dataset))
    })
  }

  #readBy<T>(host: string, read: () => T): T {
    try {
      return read()
    } catch (error) {
      if (!(error instanceof RpcError || error instanceof RangeError)) throw error
      throw this.#lie(host, error.message)
    }
  }

  #lie(host: string, reason: string): RpcError {
    this.#deps.source.distrust(host, reason)
    return new RpcError(`${host}: ${reason}`)
  }

  /** Headers prove the times and the branch of everything read. */
  async prove(to: number, drained: readonly Store[] | undefined): Promise<Segment> {
    const { source, anchor } = this.#deps
    const known = [await this.#after, await anchor()].filter((each) => each !== undefined)
    const numbers = [to, ...this.#claimedBlocks.map(({ number }) => number)]
    const headers = await source.onOneEndpoint((one) => askBranch(one, numbers, known))
    for (const { number, hash, timestamp, host } of this.#claimedBlocks) {
      const header = headers.get(number)
      if (header?.hash !== hash || (timestamp ?? header.timestamp) !== header.timestamp)
        throw this.#lie(
          host,
          `block ${number}: its hash or time differs from what came with the logs`,
        )
    }
    const end = headers.get(to)
    if (end === undefined)
      throw new RpcError(`the node returned logs up to ${to} but not that block`)
    for (const each of this.#staged) each.seal()
    const { from } = this
    const read = { from, end, logs: this.#logs, staged: this.#staged, drained }
    return { ...read, anomalies: this.#anomalies, foldedAnomalies: this.#foldedAnomalies }
  }
}

/** Asks for headers together with those of `known`; throws if the node has other blocks there. */
async function askBranch(
  source: ChainSource,
  numbers: readonly number[],
  known: readonly BlockRef[],
): Promise<ReadonlyMap<number, BlockHeader | undefined>> {
  const found = new Map<number, BlockHeader | undefined>()
  const parts = chunks([...new Set(numbers)], HEADERS_AT_ONCE)
  const asked = parts.map(async (part, index) => {
    for (let tick = 0; tick < index; tick += 1) await setImmediate()
    const headers = await askTogether(source, [...known.map(({ number }) => number), ...part])
    requireBranch(headers, known)
    for (const number of part) found.set(number, headers.get(number))
  })
  await allEnded(asked)
  return found
}

async function askTogether(source: ChainSource, numbers: readonly number[]) {
  const headers = await Promise.all(numbers.map((number) => source.header(number)))
  return new Map(numbers.map((number, index) => [number, headers[index]]))
}

function requireBranch(
  headers: ReadonlyMap<number, BlockHeader | undefined>,
  known: readonly BlockRef[],
): void {
  for (const { number, hash } of known)
    if (headers.get(number)?.hash !== hash)
      throw new RpcError(`the node's block ${number} differs from the stored one`)
}

function reportInto(anomalies: Anomaly[], dataset: AnyDataset) {
  return (log: Log, problem: LogProblem) =>
    void anomalies.push({ log, dataset: dataset.name, problem })
}
