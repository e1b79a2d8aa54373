import { type EventKind, eventKinds, logHead } from './event-kinds.ts'
import { writeQuantity, writeWord32 } from './hex-writer.ts'

/** Logs of one buffer: few buffers for millions of logs, and none is much larger than its logs. */
const LOGS_PER_CHUNK = 32_768

/** No log of the made-up chain is longer than this, whatever its numbers are. */
const LOG_BYTES_MAX = 760

const AFTER_TRANSACTION_HASH = Buffer.from('","transactionIndex":"0x')
const AFTER_LOG_INDEX = Buffer.from('","removed":false},')

const heads = eventKinds.map((kind) => Buffer.from(logHead(kind)))

interface Chunk {
  readonly bytes: Buffer
  readonly view: DataView
  /** Where each log ends, its comma included. */
  readonly ends: Uint32Array
  readonly kinds: Uint8Array
}

/** What the logs of one block share, and what tells them apart. */
export interface LogPlace {
  /** From after the data up to the digits of the transaction's hash. */
  readonly beforeTransaction: Buffer
  /** From after the transaction's index up to the digits of the log's index. */
  readonly beforeLogIndex: Buffer
  readonly transactionIndex: number
  readonly logIndex: number
  transactionWord(word: number): number
}

/**
 * Every log as the JSON text that `eth_getLogs` answers with, each followed by a comma, so that
 * neighbours are one slice of one buffer.
 */
export class LogStore {
  readonly #chunks: Chunk[] = []
  #count = 0
  #at = 0

  get count(): number {
    return this.#count
  }

  /** Begins a log: its JSON up to the data, arguments zero. Gives where its text begins. */
  begin(kind: number): { readonly view: DataView; readonly start: number } {
    if (this.#count % LOGS_PER_CHUNK === 0) this.#addChunk()
    const chunk = this.#chunkOf(this.#count)
    const head = heads[kind] ?? Buffer.alloc(0)
    const start = this.#at
    head.copy(chunk.bytes, start)
    chunk.kinds[this.#count % LOGS_PER_CHUNK] = kind
    this.#at = start + head.length
    return { view: chunk.view, start }
  }

  /** Ends the log that was begun. */
  end(place: LogPlace): void {
    const { bytes, view, ends } = this.#chunkOf(this.#count)
    let at = this.#at
    at += place.beforeTransaction.copy(bytes, at)
    for (let word = 0; word < 8; word += 1)
      writeWord32(view, at + word * 8, place.transactionWord(word))
    at += 64
    at += AFTER_TRANSACTION_HASH.copy(bytes, at)
    at = writeQuantity(bytes, at, place.transactionIndex)
    at += place.beforeLogIndex.copy(bytes, at)
    at = writeQuantity(bytes, at, place.logIndex)
    at += AFTER_LOG_INDEX.copy(bytes, at)
    ends[this.#count % LOGS_PER_CHUNK] = at
    this.#at = at
    this.#count += 1
  }

  kindNumber(log: number): number {
    return this.#chunkOf(log).kinds[log % LOGS_PER_CHUNK] ?? 0
  }

  kindOf(log: number): EventKind {
    const kind = eventKinds[this.kindNumber(log)]
    if (kind === undefined) throw new RangeError(`there is no log ${log}`)
    return kind
  }

  /** The text of neighbouring logs, both ends included, each with its comma. */
  slices(first: number, last: number): Buffer[] {
    const slices: Buffer[] = []
    for (let log = first; log <= last; ) {
      const chunkEnd = log - (log % LOGS_PER_CHUNK) + LOGS_PER_CHUNK - 1
      const end = Math.min(last, chunkEnd)
      const { bytes } = this.#chunkOf(log)
      slices.push(bytes.subarray(this.#startOf(log), this.#endOf(end)))
      log = end + 1
    }
    return slices
  }

  /** Characters of one log's text, from its beginning. */
  text(log: number, start: number, length: number): string {
    const from = this.#startOf(log) + start
    return this.#chunkOf(log).bytes.toString('latin1', from, from + length)
  }

  #startOf(log: number): number {
    return log % LOGS_PER_CHUNK === 0 ? 0 : this.#endOf(log - 1)
  }

  #endOf(log: number): number {
    return this.#chunkOf(log).ends[log % LOGS_PER_CHUNK] ?? 0
  }

  #chunkOf(log: number): Chunk {
    const chunk = this.#chunks[Math.floor(log / LOGS_PER_CHUNK)]
    if (chunk === undefined) throw new RangeError(`there is no log ${log}`)
    return chunk
  }

  #addChunk(): void {
    // Not pooled; pages that no log reaches are never touched, so they take no memory.
    const bytes = Buffer.allocUnsafeSlow(LOGS_PER_CHUNK * LOG_BYTES_MAX)
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
    const ends = new Uint32Array(LOGS_PER_CHUNK)
    this.#chunks.push({ bytes, view, ends, kinds: new Uint8Array(LOGS_PER_CHUNK) })
    this.#at = 0
  }
}
