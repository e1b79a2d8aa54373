import { setImmediate } from 'node:timers/promises'
import type { BlockClock } from '#chain/block-clock.ts'
import type { ChainSource, HistoryPart } from '#chain/chain-source.ts'
import type { LogColumns } from '#chain/columns/log-columns.ts'
import { dateLogs } from '#chain/date-logs.ts'
import { RpcError } from '#chain/rpc-error.ts'
import type { BlockHeader, BlockRef, Log } from '#domain/chain.ts'
import { allEnded } from '#lib/all-ended.ts'
import { chunks } from '#lib/chunks.ts'
import type { AnyDataset, HistoryFold, Staged, Store } from '../dataset.ts'
import type { Anomaly, Segment } from '../segment.ts'
import { selectLogs } from '../select-logs.ts'

export interface DraftDeps {
  readonly source: ChainSource
  readonly blockClock: BlockClock
  /** A final block that is stored: history is only believed of a node that has it too. */
  anchor(): Promise<BlockRef | undefined>
  /** Told of each answer: how far the reading is and how many logs it brought. */
  onRead(progress: { readonly number: number; readonly logs: number }): void
}

export interface DraftInput {
  readonly from: number
  /** The block that `from` follows, once that is proven; undefined where nothing is read yet. */
  readonly after: Promise<BlockRef | undefined>
  /** Facts of these are staged. */
  readonly datasets: readonly AnyDataset[]
  /** Datasets that fold the history in memory, each with its fold. */
  readonly folds: ReadonlyMap<AnyDataset, HistoryFold>
}

/** Logs read in one turn: half a millisecond. */
const LOGS_AT_ONCE = 256

/** Headers that travel together, so that one node answers them: a batch has room for 50. */
const HEADERS_AT_ONCE = 45

/** A block of an answer that its header proves: one node knows one branch at a time. */
interface ToldBlock extends BlockRef {
  /** The endpoint that told of it. */
  readonly host: string
  /** Undefined where the node told none. */
  readonly timestamp: number | undefined
}

/** A segment that is being read, and proven afterwards. */
export class Draft {
  readonly from: number
  readonly #after: Promise<BlockRef | undefined>
  readonly #deps: DraftDeps
  readonly #folds: DraftInput['folds']
  readonly #staged: readonly Staged[]
  readonly #anomalies: Anomaly[] = []
  readonly #foldedAnomalies: Anomaly[] = []
  readonly #exact: ReturnType<typeof selectLogs>
  #logs = 0
  #answers = 0
  readonly #toldBlocks: ToldBlock[] = []

  constructor(deps: DraftDeps, input: DraftInput) {
    this.#deps = deps
    this.#folds = input.folds
    this.from = input.from
    this.#after = input.after
    this.#staged = input.datasets.map((dataset) =>
      dataset.stage(tellInto(this.#anomalies, dataset)),
    )
    this.#exact = selectLogs(input.datasets.flatMap((dataset) => dataset.selectors))
  }

  /** Facts that are held until they are stored. */
  get size(): number {
    return this.#staged.reduce((sum, staged) => sum + staged.size, 0)
  }

  /** Answers that brought logs. */
  get answers(): number {
    return this.#answers
  }

  /** Blocks whose headers prove what was read. */
  get toldBlocks(): number {
    return this.#toldBlocks.length
  }

  async take({ columns, end, host }: HistoryPart, to: number): Promise<void> {
    const isUndated = columns.timestamp.subarray(0, columns.count).includes(0)
    if (isUndated)
      await dateLogs(this.#deps.blockClock, {
        columns,
        exact: (index) => this.#exact.isWanted(columns, index),
      })
    this.#keepLast(columns, host, isUndated)
    if (end !== undefined) this.#toldBlocks.push({ ...end, host, timestamp: undefined })
    for (let from = 0; from < columns.count; from += LOGS_AT_ONCE) {
      // A commit under way has its turn in between, at each of its statements.
      await setImmediate()
      this.#read(columns.slice(from, Math.min(from + LOGS_AT_ONCE, columns.count)), host)
    }
    this.#deps.onRead({ number: to, logs: columns.count })
  }

  #keepLast(columns: LogColumns, host: string, isUndated: boolean): void {
    const last = columns.count - 1
    if (last < 0) return
    this.#answers += 1
    this.#toldBlocks.push({
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
        fold.take(columns, tellInto(this.#foldedAnomalies, dataset))
    })
  }

  /** Longer values are read only now, so that what is no hex shows here. */
  #readBy<T>(host: string, read: () => T): T {
    try {
      return read()
    } catch (error) {
      if (!(error instanceof RpcError || error instanceof RangeError)) throw error
      throw this.#lie(host, error.message)
    }
  }

  /** The next try goes to another endpoint, where there is one. */
  #lie(host: string, reason: string): RpcError {
    this.#deps.source.distrust(host, reason)
    return new RpcError(`${host}: ${reason}`)
  }

  /** Headers prove the times and the branch of all that was read. */
  async prove(to: number, drained: readonly Store[] | undefined): Promise<Segment> {
    const { source, anchor } = this.#deps
    const known = [await this.#after, await anchor()].filter((each) => each !== undefined)
    const numbers = [to, ...this.#toldBlocks.map(({ number }) => number)]
    const headers = await source.onOneEndpoint((one) => askBranch(one, numbers, known))
    for (const { number, hash, timestamp, host } of this.#toldBlocks) {
      const header = headers.get(number)
      if (header?.hash !== hash || (timestamp ?? header.timestamp) !== header.timestamp)
        throw this.#lie(
          host,
          `block ${number}: its hash or time differs from what came with the logs`,
        )
    }
    const end = headers.get(to)
    if (end === undefined) throw new RpcError(`the node gave logs up to ${to} but not the block`)
    const { from } = this
    const read = { from, end, logs: this.#logs, staged: this.#staged, drained }
    return { ...read, anomalies: this.#anomalies, foldedAnomalies: this.#foldedAnomalies }
  }
}

/** Headers of nodes that also have the blocks that are stored: they are on their branch. */
async function askBranch(
  source: ChainSource,
  numbers: readonly number[],
  known: readonly BlockRef[],
): Promise<ReadonlyMap<number, BlockHeader | undefined>> {
  const found = new Map<number, BlockHeader | undefined>()
  const parts = chunks([...new Set(numbers)], HEADERS_AT_ONCE)
  const asked = parts.map(async (part, index) => {
    // What is asked in one tick travels together.
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
      throw new RpcError(`block ${number} of the node is not the one that the index stands on`)
}

function tellInto(anomalies: Anomaly[], dataset: AnyDataset) {
  return (log: Log, reason: string) => void anomalies.push({ log, dataset: dataset.name, reason })
}
