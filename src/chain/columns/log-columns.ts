import type { Address, Hash } from '#base/address.ts'
import type { Log } from '#base/chain.ts'
import type { LogFilter } from '../log-filter.ts'
import { RpcError } from '../rpc-error.ts'

/** Offsets of the first hex digit of longer values. */
export const PLACE = {
  blockHash: 0,
  txHash: 1,
  topic1: 2,
  topic2: 3,
  topic3: 4,
  data: 5,
  dataEnd: 6,
}
export const PLACES = 7

export type FilledColumns = Pick<
  LogColumns,
  'count' | 'pair' | 'blockNumber' | 'timestamp' | 'txIndex' | 'logIndex' | 'places'
>

function emptyColumns(capacity: number): FilledColumns {
  return {
    count: 0,
    pair: new Uint32Array(capacity),
    blockNumber: new Float64Array(capacity),
    timestamp: new Float64Array(capacity),
    txIndex: new Uint32Array(capacity),
    logIndex: new Uint32Array(capacity),
    places: new Uint32Array(capacity * PLACES),
  }
}

/**
 * Logs in chain order. Long values stay in the body and are decoded on access; offset 0 means absent.
 */
export class LogColumns {
  readonly chainId: number
  readonly body: Buffer
  readonly table: PairTable
  count: number
  readonly pair: Uint32Array<ArrayBuffer>
  readonly blockNumber: Float64Array<ArrayBuffer>
  /** Unix seconds; 0 if unknown. */
  readonly timestamp: Float64Array<ArrayBuffer>
  readonly txIndex: Uint32Array<ArrayBuffer>
  readonly logIndex: Uint32Array<ArrayBuffer>
  readonly places: Uint32Array<ArrayBuffer>
  /** Several readers take the same log. */
  readonly #logs: Log[] = []

  constructor(chainId: number, table: PairTable, body: Buffer, filled?: FilledColumns) {
    this.chainId = chainId
    this.table = table
    this.body = body
    const columns = filled ?? emptyColumns(Math.ceil(body.length / BYTES_PER_LOG_MIN))
    this.count = columns.count
    this.pair = columns.pair
    this.blockNumber = columns.blockNumber
    this.timestamp = columns.timestamp
    this.txIndex = columns.txIndex
    this.logIndex = columns.logIndex
    this.places = columns.places
  }

  slice(start: number, end: number): LogColumns {
    return new LogColumns(this.chainId, this.table, this.body, {
      count: end - start,
      pair: this.pair.subarray(start, end),
      blockNumber: this.blockNumber.subarray(start, end),
      timestamp: this.timestamp.subarray(start, end),
      txIndex: this.txIndex.subarray(start, end),
      logIndex: this.logIndex.subarray(start, end),
      places: this.places.subarray(start * PLACES, end * PLACES),
    })
  }

  place(index: number, which: number): number {
    return this.places[index * PLACES + which] ?? 0
  }

  blockHash(index: number): Hash {
    return this.#hex(this.place(index, PLACE.blockHash), HASH_DIGITS)
  }

  /** Returns `0x` if absent. */
  topic(index: number, topic: number): Hash {
    const at = this.place(index, PLACE.topic1 + topic - 1)
    return at === 0 ? '0x' : this.#hex(at, HASH_DIGITS)
  }

  log(index: number): Log {
    const log = this.#logs[index] ?? this.#read(index)
    this.#logs[index] = log
    return log
  }

  #read(index: number): Log {
    const pair = this.table.pairs[this.pair[index] ?? 0]
    if (pair === undefined) throw new RangeError(`there is no log ${index}`)
    const topics: Hash[] = [pair.topic0]
    for (let topic = 1; topic <= 3; topic += 1)
      if (this.place(index, PLACE.topic1 + topic - 1) !== 0) topics.push(this.topic(index, topic))
    const data = this.place(index, PLACE.data)
    return {
      chainId: this.chainId,
      blockNumber: this.blockNumber[index] ?? 0,
      blockHash: this.blockHash(index),
      timestamp: this.timestamp[index] ?? 0,
      txHash: this.#hex(this.place(index, PLACE.txHash), HASH_DIGITS),
      txIndex: this.txIndex[index] ?? 0,
      logIndex: this.logIndex[index] ?? 0,
      address: pair.address as Address,
      topics,
      data: this.#hex(data, this.place(index, PLACE.dataEnd) - data),
    }
  }

  #hex(at: number, digits: number): `0x${string}` {
    const text = this.body.toString('latin1', at, at + digits).toLowerCase()
    if (digits % 2 !== 0 || !HEX.test(text))
      throw new RpcError(`the node returned a log with malformed hex: "${text}"`)
    return `0x${text}`
  }
}

const HEX = /^[0-9a-f]*$/

export const HASH_DIGITS = 64

/** Two hashes, an address and a topic with their keys. */
const BYTES_PER_LOG_MIN = 350

export const NO_PAIR = 0xffff_ffff

type Pair = NonNullable<LogFilter['pairs']>[number]

export class PairTable {
  readonly pairs: readonly Pair[]
  readonly #texts: readonly DataView[]
  readonly #byKey = new Map<number, number[]>()
  static readonly #known = new WeakMap<LogFilter, PairTable>()

  static of(filter: LogFilter): PairTable {
    const known = PairTable.#known.get(filter)
    if (known !== undefined) return known
    const table = new PairTable(filter.pairs ?? [])
    PairTable.#known.set(filter, table)
    return table
  }

  /** @param pairs each in lower-case hex */
  constructor(pairs: readonly Pair[]) {
    this.pairs = pairs
    const texts = pairs.map(({ address, topic0 }) =>
      Buffer.from(address.slice(2) + topic0.slice(2), 'latin1'),
    )
    this.#texts = texts.map(viewOf)
    for (const [index, text] of texts.entries()) {
      const key = keyOf(text, 0, ADDRESS_DIGITS)
      const list = this.#byKey.get(key)
      if (list === undefined) this.#byKey.set(key, [index])
      else list.push(index)
    }
  }

  find(body: Uint8Array, view: DataView, addressAt: number, topicAt: number): number {
    const candidates = this.#byKey.get(keyOf(body, addressAt, topicAt))
    if (candidates === undefined) return NO_PAIR
    for (const index of candidates) {
      const text = this.#texts[index]
      if (
        text !== undefined &&
        sameHex(view, addressAt, text, 0, ADDRESS_DIGITS) &&
        sameHex(view, topicAt, text, ADDRESS_DIGITS, TOPIC_DIGITS)
      )
        return index
    }
    return NO_PAIR
  }
}

const ADDRESS_DIGITS = 40
const TOPIC_DIGITS = 64

/** Mined addresses begin alike, so the end decides. */
function keyOf(text: Uint8Array, addressAt: number, topicAt: number): number {
  return (readWord(text, addressAt + ADDRESS_DIGITS - WORD_DIGITS) ^ readWord(text, topicAt)) >>> 0
}

const WORD_DIGITS = 8

/** Keyed by ASCII code; 255 for other characters. */
export const NIBBLE: Uint8Array = Uint8Array.from({ length: 256 }, (_, code) => {
  const digit = Number.parseInt(String.fromCharCode(code), 16)
  return code < 128 && !Number.isNaN(digit) ? digit : 255
})

/** Reads an unsigned number; NaN if invalid. */
function readWord(body: Uint8Array, at: number): number {
  const a = NIBBLE[body[at] ?? 0] ?? 255
  const b = NIBBLE[body[at + 1] ?? 0] ?? 255
  const c = NIBBLE[body[at + 2] ?? 0] ?? 255
  const d = NIBBLE[body[at + 3] ?? 0] ?? 255
  const e = NIBBLE[body[at + 4] ?? 0] ?? 255
  const f = NIBBLE[body[at + 5] ?? 0] ?? 255
  const g = NIBBLE[body[at + 6] ?? 0] ?? 255
  const h = NIBBLE[body[at + 7] ?? 0] ?? 255
  if ((a | b | c | d | e | f | g | h) > 15) return Number.NaN
  return ((a << 28) | (b << 24) | (c << 20) | (d << 16) | (e << 12) | (f << 8) | (g << 4) | h) >>> 0
}

export function sameHex(a: DataView, at: number, b: DataView, bt: number, length: number): boolean {
  for (let offset = 0; offset < length; offset += 4)
    if (
      a.getUint32(at + offset) !== b.getUint32(bt + offset) &&
      !sameDigits(a, at + offset, b, bt + offset)
    )
      return false
  return true
}

function sameDigits(a: DataView, at: number, b: DataView, bt: number): boolean {
  for (let offset = 0; offset < 4; offset += 1)
    if (NIBBLE[a.getUint8(at + offset)] !== NIBBLE[b.getUint8(bt + offset)]) return false
  return true
}

export function viewOf(body: Uint8Array): DataView {
  return new DataView(body.buffer, body.byteOffset, body.byteLength)
}
