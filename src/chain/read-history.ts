import type { BlockHeader, Log } from '#domain/chain.ts'
import { type ChainSource, RpcError, type SourceLog } from './chain-source.ts'
import type { LogFilter } from './log-filter.ts'

/** Answers of this many logs keep a node and our memory at ease; ranges grow or shrink towards it. */
const LOGS_WANTED = 6_000

/** The first range; small enough for the strictest provider that sells archive access. */
const RANGE_START = 2_000

/** Sparse chains are read in few requests; the bound keeps one refusal cheap. */
const RANGE_MAX = 1_000_000

/** A dense stretch must not slow down the rest: after this many ranges a larger one is tried again. */
const RANGES_UNTIL_LARGER = 16

/** Halving from the largest range to one block takes 20 steps; more refusals are not about size. */
const SHRINKS_MAX = 24

export interface HistoryRange {
  readonly from: number
  readonly end: BlockHeader
  readonly logs: readonly Log[]
}

/** Reads final history in ranges that fit the provider, oldest first. Remembers what size fits. */
export class HistoryReader {
  readonly #source: ChainSource
  readonly #filters: readonly LogFilter[]
  #size = RANGE_START
  #sizeMax = RANGE_MAX
  #rangesSinceRefusal = 0

  constructor(source: ChainSource, filters: readonly LogFilter[]) {
    this.#source = source
    this.#filters = filters
  }

  /** The next range that starts at `from` and ends at `to` at the latest. */
  async read(from: number, to: number): Promise<HistoryRange> {
    for (let attempt = 0; attempt < SHRINKS_MAX; attempt += 1) {
      const last = Math.min(to, from + this.#size - 1)
      try {
        // A lagging endpoint gives no logs without an error; only its own last block vouches for them.
        return await this.#source.onOneEndpoint((source) => this.#fetch(source, from, last))
      } catch (error) {
        if (!(error instanceof RpcError && error.tooLarge) || this.#size === 1) throw error
        this.#size = Math.max(1, Math.floor((last - from + 1) / 2))
        this.#sizeMax = this.#size
        this.#rangesSinceRefusal = 0
      }
    }
    throw new RpcError(`the node refuses every range from block ${from}`)
  }

  async #fetch(source: ChainSource, from: number, last: number): Promise<HistoryRange> {
    const lists = await Promise.all(
      this.#filters.map((filter) => source.logsInRange(filter, from, last)),
    )
    const found = withoutRepeats(lists.flat())
    // Asked after the logs: a node that knows the last block now had the whole range then.
    const end = await source.header(last)
    if (end === undefined) throw new RpcError(`the node gave logs up to ${last} but not the block`)
    const logs = await this.#dated(source, { found, from, end })
    this.#adapt(last - from + 1, logs.length)
    return { from, end, logs }
  }

  #adapt(blocks: number, logs: number): void {
    this.#rangesSinceRefusal += 1
    if (this.#rangesSinceRefusal % RANGES_UNTIL_LARGER === 0)
      this.#sizeMax = Math.min(RANGE_MAX, this.#sizeMax * 2)
    const factor = logs === 0 ? 4 : Math.min(4, Math.max(0.25, LOGS_WANTED / logs))
    const next = Math.round(Math.max(blocks, this.#size / 2) * factor)
    this.#size = Math.min(this.#sizeMax, Math.max(1, next))
  }

  /** Gives every log its block's time and checks that the logs of a block agree on its hash. */
  async #dated(
    source: ChainSource,
    range: {
      readonly found: readonly SourceLog[]
      readonly from: number
      readonly end: BlockHeader
    },
  ): Promise<Log[]> {
    const { found, from, end } = range
    const times = await this.#times(source, found, end)
    const hashes = new Map<number, string>([[end.number, end.hash]])
    return found.map((log) => {
      const hash = hashes.get(log.blockNumber) ?? log.blockHash
      hashes.set(log.blockNumber, hash)
      if (hash !== log.blockHash)
        throw new RpcError(`block ${log.blockNumber} has two hashes: ${hash} and ${log.blockHash}`)
      if (log.blockNumber < from || log.blockNumber > end.number)
        throw new RpcError(`asked for ${from} to ${end.number}, got a log of ${log.blockNumber}`)
      const timestamp = log.timestamp ?? times.get(log.blockNumber)
      if (timestamp === undefined) throw new RpcError(`block ${log.blockNumber} has no time`)
      return { ...log, timestamp }
    })
  }

  async #times(
    source: ChainSource,
    found: readonly SourceLog[],
    end: BlockHeader,
  ): Promise<Map<number, number>> {
    const missing = new Set<number>()
    for (const log of found) if (log.timestamp === null) missing.add(log.blockNumber)
    // One header of a block that carries a time proves that the node's times are its blocks'.
    const sample = found.findLast((log) => log.timestamp !== null)
    if (sample !== undefined) missing.add(sample.blockNumber)
    const headers = await Promise.all([...missing].map((number) => source.header(number)))
    const times = new Map([[end.number, end.timestamp]])
    for (const header of headers) if (header) times.set(header.number, header.timestamp)
    if (sample !== undefined && times.get(sample.blockNumber) !== sample.timestamp)
      throw new RpcError(`block ${sample.blockNumber}: a log's time differs from its block's`)
    return times
  }
}

/** Logs in chain order, each once: two filters may both ask for one. */
function withoutRepeats(logs: readonly SourceLog[]): readonly SourceLog[] {
  const sorted = [...logs].sort((a, b) => a.blockNumber - b.blockNumber || a.logIndex - b.logIndex)
  return sorted.filter((log, index) => {
    const before = sorted[index - 1]
    return before?.blockNumber !== log.blockNumber || before.logIndex !== log.logIndex
  })
}
