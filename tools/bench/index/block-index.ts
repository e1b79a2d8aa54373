import { writeWord32 } from './hex-writer.ts'
import { mixWord } from './random-words.ts'

type Hex = `0x${string}`

/** Hashes are eight words; each needs its own seed. */
const WORDS = 8

/** Blocks by height: which logs they hold and when they were made. */
export class BlockIndex {
  readonly #seed: number
  #firstLogs: Uint32Array
  #times: Uint32Array
  #count = 0
  #logs = 0

  constructor(seed: number, blocks: number) {
    this.#seed = seed
    this.#firstLogs = new Uint32Array(blocks + 1)
    this.#times = new Uint32Array(blocks + 1)
  }

  /** The newest block. */
  get head(): number {
    return this.#count - 1
  }

  /** Adds a block that ends with the given number of logs over the whole chain. */
  add(timeUnix: number, logsAfter: number): void {
    if (this.#count === this.#times.length) {
      this.#times = grown(this.#times)
      this.#firstLogs = grown(this.#firstLogs)
    }
    this.#times[this.#count] = timeUnix
    this.#firstLogs[this.#count] = this.#logs
    this.#logs = logsAfter
    this.#count += 1
  }

  timeOf(number: number): number {
    return this.#times[number] ?? 0
  }

  /** The first log of a block or of the blocks after it; above the head, the number of logs. */
  firstLog(number: number): number {
    if (number > this.head) return this.#logs
    return this.#firstLogs[Math.max(0, number)] ?? 0
  }

  /** The block of a log. */
  blockOf(log: number): number {
    let low = 0
    let high = this.head
    while (low < high) {
      const middle = Math.ceil((low + high) / 2)
      if (this.firstLog(middle) <= log) low = middle
      else high = middle - 1
    }
    return low
  }

  hashOf(number: number): Hex {
    return hexOf((word) => this.#word(number, word))
  }

  /** The height of a block's hash, or undefined when the chain has no such block. */
  numberOf(hash: string): number | undefined {
    const first = Number.parseInt(hash.slice(2, 10), 16)
    const second = Number.parseInt(hash.slice(10, 18), 16)
    const number = (first ^ mixWord(this.#seed + 20, second)) >>> 0
    return number <= this.head && this.hashOf(number) === hash.toLowerCase() ? number : undefined
  }

  /** One of the eight words of a transaction's hash. */
  transactionWord(number: number, ordinal: number, word: number): number {
    return mixWord(mixWord(this.#seed + 40 + word, number), ordinal)
  }

  transactionHash(number: number, ordinal: number): Hex {
    return hexOf((word) => this.transactionWord(number, ordinal, word))
  }

  /** The second word hides the height in the first, so that a hash leads back to its block. */
  #word(number: number, word: number): number {
    if (word > 0) return mixWord(this.#seed + 20 + word, number)
    return (number ^ mixWord(this.#seed + 20, this.#word(number, 1))) >>> 0
  }
}

function grown(list: Uint32Array): Uint32Array {
  const larger = new Uint32Array(list.length * 2)
  larger.set(list)
  return larger
}

function hexOf(wordAt: (word: number) => number): Hex {
  const bytes = Buffer.alloc(WORDS * 8)
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length)
  for (let word = 0; word < WORDS; word += 1) writeWord32(view, word * 8, wordAt(word))
  return `0x${bytes.toString('latin1')}`
}
