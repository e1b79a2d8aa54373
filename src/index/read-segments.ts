import { setImmediate } from 'node:timers/promises'
import { chunks } from '#base/async.ts'
import type { BlockHeader } from '#base/chain.ts'
import type { Clock } from '#base/time.ts'
import type { ChainSource, HistoryPart, SourceLog } from '#chain/chain-source.ts'
import { dateLogs } from '#chain/date-logs.ts'
import { RpcError } from '#chain/rpc-error.ts'
import {
  type AnyDataset,
  buildFilters,
  type StagedLogs,
  selectLogs,
  selectorsIn,
  stageAll,
} from './dataset.ts'

/** Blocks of history, read and decoded. */
export interface Segment extends StagedLogs {
  readonly end: BlockHeader
}

export interface ReadDeps {
  readonly source: ChainSource
  readonly clock: Clock
  onRead(progress: { readonly number: number; readonly logs: number }): void
}

export interface ReadInput {
  readonly from: number
  readonly to: number
  readonly datasets: readonly AnyDataset[]
  readonly signal?: AbortSignal | undefined
}

/** Larger commits cost less per log; bounded by memory. */
const LOGS_MAX = 50_000

/** Limits what a kill loses, and how long figures stand still. */
const COMMIT_EVERY_MS = 5_000

/**
 * Yields segments in block order. One filter leads, and the others catch up at each end. Reads the next
 * segment while the caller stores one.
 */
export async function* readSegments(deps: ReadDeps, input: ReadInput): AsyncGenerator<Segment> {
  const stop = new AbortController()
  const signal = AbortSignal.any([stop.signal, ...(input.signal ? [input.signal] : [])])
  const segments = readEach(deps, input, signal)
  const readOn = () => {
    const next = segments.next()
    // Rethrown when consumed.
    next.catch(() => undefined)
    return next
  }
  try {
    for (let reading = readOn(); ; ) {
      const { done, value } = await reading
      if (done === true) return
      reading = readOn()
      yield value
    }
  } finally {
    stop.abort()
    await segments.return()
  }
}

async function* readEach(
  deps: ReadDeps,
  input: ReadInput,
  signal: AbortSignal,
): AsyncGenerator<Segment, void, void> {
  const { source, clock } = deps
  const { from, to, datasets } = input
  const [filter, ...others] = buildFilters(datasets, source.chainId)
  const sides = others.map((each, index) => {
    const earlier = [filter, ...others.slice(0, index)].filter((one) => one !== undefined)
    const isKnown = selectLogs(earlier.flatMap((one) => selectorsIn(one, source.chainId)))
    // An earlier filter brings these, so that each log is taken once.
    return { isKnown, history: new SideHistory(source.history({ from, to, filter: each, signal })) }
  })
  let segment = new OpenSegment(deps, input)
  let endedMs = clock()
  try {
    const lead = filter && source.history({ from, to, filter, signal })
    for await (const part of lead ?? []) {
      await segment.take(part, part.to)
      const isDue = segment.logs >= LOGS_MAX || clock() - endedMs >= COMMIT_EVERY_MS
      if (part.to < to && !isDue) continue
      for (const { history, isKnown } of sides)
        for await (const more of history.upTo(part.to)) await segment.take(more, part.to, isKnown)
      signal.throwIfAborted()
      yield await segment.close(part.to)
      segment = new OpenSegment(deps, input)
      endedMs = clock()
    }
    if (lead === undefined) yield await segment.close(to)
  } finally {
    await Promise.all(sides.map(({ history }) => history.stop()))
  }
}

const LOGS_AT_ONCE = 256

/** A segment that is being read. */
class OpenSegment {
  readonly #deps: ReadDeps
  readonly #read: StagedLogs
  #logs = 0
  /** The end that came with the newest logs. */
  #end: Pick<HistoryPart, 'end' | 'host'> | undefined

  constructor(deps: ReadDeps, { datasets }: ReadInput) {
    this.#deps = deps
    this.#read = stageAll(datasets)
  }

  get logs(): number {
    return this.#logs
  }

  async take(
    { logs: read, end, host }: HistoryPart,
    to: number,
    isKnown: (log: SourceLog) => boolean = () => false,
  ): Promise<void> {
    const logs = await dateLogs(
      this.#deps.source,
      read.filter((log) => !isKnown(log)),
    )
    this.#end = { end, host }
    this.#logs += logs.length
    for (const some of chunks(logs, LOGS_AT_ONCE)) {
      await setImmediate()
      for (const staged of this.#read.staged) staged.take(some)
    }
    this.#deps.onRead({ number: to, logs: logs.length })
  }

  /** Ends the segment with the header of its last block. */
  async close(to: number): Promise<Segment> {
    const header = await this.#deps.source.header(to)
    if (header === undefined)
      throw new RpcError(`the node returned logs up to ${to} but not that block`)
    const { end, host = '' } = this.#end ?? {}
    if (end?.number === to && end.hash !== header.hash) {
      const reason = `block ${to} has another hash than what came with the logs`
      this.#deps.source.distrust(host, reason)
      throw new RpcError(`${host}: ${reason}`)
    }
    return { end: header, ...this.#read }
  }
}

/** Reads ahead, and delivers up to where the leading filter is. */
class SideHistory {
  readonly #parts: AsyncIterator<HistoryPart>
  #part: HistoryPart | undefined

  constructor(parts: AsyncIterable<HistoryPart>) {
    this.#parts = parts[Symbol.asyncIterator]()
  }

  async *upTo(block: number): AsyncGenerator<HistoryPart> {
    for (;;) {
      const part = this.#part ?? (await this.#parts.next()).value
      this.#part = part
      if (part === undefined || part.from > block) return
      this.#part = part.to > block ? cut(part, block + 1, part.to) : undefined
      yield part.to > block ? cut(part, part.from, block) : part
    }
  }

  async stop(): Promise<void> {
    await this.#parts.return?.()
  }
}

function cut(part: HistoryPart, from: number, to: number): HistoryPart {
  const logs = part.logs.filter(({ blockNumber }) => blockNumber >= from && blockNumber <= to)
  return { ...part, from, to, logs }
}
