import type { Address, Hash } from '#domain/address.ts'
import type { Log } from '#domain/chain.ts'
import { RpcError } from '../chain-source.ts'
import { readWord } from './hex-text.ts'
import type { PairTable } from './pair-table.ts'

/** Places of one log's longer values in the body: each points at the first hex digit. */
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

/**
 * Logs of one `eth_getLogs` answer as columns, in chain order. Short values are numbers; the longer
 * ones stay where they lie in the body and are read when they are wanted. A place of 0 means that
 * the log has no such topic.
 */
export class LogColumns {
  readonly chainId: number
  readonly body: Buffer
  readonly table: PairTable
  count = 0
  /** Index into the table's pairs. */
  pair: Uint16Array
  blockNumber: Float64Array
  /** Unix seconds; 0 where the node does not tell. */
  timestamp: Float64Array
  txIndex: Uint32Array
  logIndex: Uint32Array
  /** `PLACES` per log. */
  places: Uint32Array

  constructor(chainId: number, table: PairTable, body: Buffer) {
    this.chainId = chainId
    this.table = table
    this.body = body
    const capacity = Math.ceil(body.length / BYTES_PER_LOG_MIN)
    this.pair = new Uint16Array(capacity)
    this.blockNumber = new Float64Array(capacity)
    this.timestamp = new Float64Array(capacity)
    this.txIndex = new Uint32Array(capacity)
    this.logIndex = new Uint32Array(capacity)
    this.places = new Uint32Array(capacity * PLACES)
  }

  place(index: number, which: number): number {
    return this.places[index * PLACES + which] ?? 0
  }

  blockHash(index: number): Hash {
    return this.#hex(this.place(index, PLACE.blockHash), HASH_DIGITS)
  }

  /** Topic 1 to 3; an empty text where the log has no such topic. */
  topic(index: number, topic: number): Hash {
    const at = this.place(index, PLACE.topic1 + topic - 1)
    return at === 0 ? '0x' : this.#hex(at, HASH_DIGITS)
  }

  /** The last `TAIL_DIGITS` digits of a topic as a number; NaN where the log has no such topic. */
  topicTail(index: number, topic: number): number {
    const at = this.place(index, PLACE.topic1 + topic - 1)
    return at === 0 ? Number.NaN : readWord(this.body, at + HASH_DIGITS - TAIL_DIGITS)
  }

  /** The log as an object; its time is 0 where the node did not tell. */
  log(index: number): Log {
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
    if (digits % 2 !== 0 || !HEX.test(text)) throw new RpcError(`the node gave "${text}" as bytes`)
    return `0x${text}`
  }
}

const HEX = /^[0-9a-f]*$/

/** Digits that fit into a 32-bit word. */
export const TAIL_DIGITS = 8

/** Digits of a 32-byte value. */
export const HASH_DIGITS = 64

/** The shortest log is longer: two hashes, an address and a topic, with their keys. */
const BYTES_PER_LOG_MIN = 350
