import type { SourceLog } from '../chain-source.ts'
import type { LogFilter } from '../log-filter.ts'

export const HASH_DIGITS = 64

type Pair = NonNullable<LogFilter['pairs']>[number]

/** Which event of which contract a filter names. */
export class PairTable {
  readonly #byKey = new Map<number, (readonly [Pair, DataView])[]>()
  readonly #names: ReadonlySet<string>
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
    this.#names = new Set(pairs.map(nameOf))
    for (const pair of pairs) {
      const text = Buffer.from(pair.address.slice(2) + pair.topic0.slice(2), 'latin1')
      const key = keyOf(text, 0, ADDRESS_DIGITS)
      this.#byKey.set(key, [...(this.#byKey.get(key) ?? []), [pair, viewOf(text)]])
    }
  }

  has({ address, topics: [topic0 = '0x'] }: Pick<SourceLog, 'address' | 'topics'>): boolean {
    return this.#names.has(nameOf({ address, topic0 }))
  }

  find(body: Uint8Array, view: DataView, addressAt: number, topicAt: number): Pair | undefined {
    for (const [pair, text] of this.#byKey.get(keyOf(body, addressAt, topicAt)) ?? [])
      if (
        sameHex(view, addressAt, text, 0, ADDRESS_DIGITS) &&
        sameHex(view, topicAt, text, ADDRESS_DIGITS, TOPIC_DIGITS)
      )
        return pair
    return undefined
  }
}

function nameOf({ address, topic0 }: Pair): string {
  return `${address} ${topic0}`
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
