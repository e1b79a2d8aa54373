import type { ChainSource, HistoryPart, HistoryRequest } from '#chains/chain/chain-source.ts'
import type { LogColumns } from '#chains/chain/columns/log-columns.ts'
import { NO_PAIR } from '#chains/chain/columns/pair-table.ts'

const WAITING_BYTES_MAX = 8_000_000

/** A filter with capped ranges needs as many requests as the leading one. */
const AT_ONCE_MAX = 8

/** Reads ahead, and delivers up to where the leading filter is. */
export class SideHistory {
  readonly #stop = new AbortController()
  readonly #reading: Promise<void>
  readonly #waiting: HistoryPart[] = []
  #waitingBytes = 0
  #ended: { readonly error?: unknown } | undefined
  #news = Promise.withResolvers<void>()

  /** `isKnown`: an earlier filter brings the log, so that it is taken once. */
  constructor(
    source: ChainSource,
    request: Omit<HistoryRequest, 'signal' | 'atOnceMax'>,
    isKnown: (columns: LogColumns, index: number) => boolean = () => false,
  ) {
    this.#reading = this.#readAll(
      source.history({ ...request, atOnceMax: AT_ONCE_MAX, signal: this.#stop.signal }),
      isKnown,
    )
  }

  async *upTo(block: number): AsyncGenerator<HistoryPart> {
    for (;;) {
      const part = this.#waiting[0]
      if (part === undefined) {
        if (this.#ended === undefined) await this.#news.promise
        else if ('error' in this.#ended) throw this.#ended.error
        else return
      } else if (part.from > block) return
      else yield this.#takeUpTo(part, block)
    }
  }

  async stop(): Promise<void> {
    this.#stop.abort()
    this.#notify()
    await this.#reading
  }

  #takeUpTo(part: HistoryPart, block: number): HistoryPart {
    this.#waiting.shift()
    if (part.to > block) {
      this.#waiting.unshift(cut(part, block + 1, part.to))
      return cut(part, part.from, block)
    }
    this.#waitingBytes -= part.columns.body.length
    this.#notify()
    return part
  }

  async #readAll(
    parts: AsyncIterable<HistoryPart>,
    isKnown: (columns: LogColumns, index: number) => boolean,
  ): Promise<void> {
    try {
      for await (const part of parts) {
        const columns = part.columns.copy()
        for (let index = 0; index < columns.count; index += 1)
          if (isKnown(columns, index)) columns.pair[index] = NO_PAIR
        this.#waiting.push({ ...part, columns })
        this.#waitingBytes += columns.body.length
        this.#notify()
        while (this.#waitingBytes > WAITING_BYTES_MAX && !this.#stop.signal.aborted)
          await this.#news.promise
      }
      this.#ended = {}
    } catch (error) {
      this.#ended = { error }
    }
    this.#notify()
  }

  #notify(): void {
    this.#news.resolve()
    this.#news = Promise.withResolvers<void>()
  }
}

function cut(part: HistoryPart, from: number, to: number): HistoryPart {
  const { columns } = part
  const start = placeOf(columns, from)
  return { ...part, from, to, columns: columns.slice(start, placeOf(columns, to + 1)) }
}

function placeOf({ blockNumber, count }: LogColumns, block: number): number {
  let low = 0
  let high = count
  while (low < high) {
    const middle = (low + high) >>> 1
    if ((blockNumber[middle] ?? 0) < block) low = middle + 1
    else high = middle
  }
  return low
}
