import type { LogFilter } from '../log-filter.ts'
import { readWord, sameHex, viewOf } from './hex-text.ts'

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
