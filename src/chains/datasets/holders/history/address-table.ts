import { readWord } from '#chains/chain/columns/hex-text.ts'
import type { Address } from '#domain/address.ts'
import { free } from '#lib/free.ts'

export const ADDRESS_WORDS = 5
const WORDS = ADDRESS_WORDS

const GROWTH = 1.5

/** Keeps probe sequences short. */
const SLOTS_PER_ADDRESS = 2

/** Assigns each address a small number; 28 bytes per address, no objects. */
export class AddressTable {
  count = 0
  #words = new Uint32Array(WORDS * 1_024)
  #slots = new Int32Array(1_024 * SLOTS_PER_ADDRESS).fill(-1)
  readonly #wanted = new Uint32Array(WORDS)
  readonly #bytes = Buffer.alloc(WORDS * 4)

  intern(body: Uint8Array, at: number): number {
    const wanted = this.#wanted
    for (let word = 0; word < WORDS; word += 1) {
      const value = readWord(body, at + word * 8)
      if (Number.isNaN(value)) throw new RangeError(`no hex digits at byte ${at}`)
      wanted[word] = value
    }
    return this.#find()
  }

  internAddress(address: Address): number {
    return this.intern(Buffer.from(address, 'latin1'), 2)
  }

  address(id: number): Address {
    for (let word = 0; word < WORDS; word += 1)
      this.#bytes.writeUInt32BE(this.#words[id * WORDS + word] ?? 0, word * 4)
    return `0x${this.#bytes.toString('hex')}`
  }

  words(ids: Float64Array | Uint32Array): Uint32Array<ArrayBuffer> {
    const words = new Uint32Array(ids.length * WORDS)
    for (let place = 0; place < ids.length; place += 1) {
      const id = ids[place] ?? 0
      for (let word = 0; word < WORDS; word += 1)
        words[place * WORDS + word] = this.#words[id * WORDS + word] ?? 0
    }
    return words
  }

  firstBits(id: number): number {
    return this.#words[id * WORDS] ?? 0
  }

  #find(): number {
    const slots = this.#slots
    const words = this.#words
    const wanted = this.#wanted
    const mask = slots.length - 1
    const a = wanted[0]
    const b = wanted[1]
    const c = wanted[2]
    const d = wanted[3]
    const e = wanted[4]
    for (let slot = this.#hash(wanted, 0) & mask; ; slot = (slot + 1) & mask) {
      const id = slots[slot] ?? -1
      if (id < 0) return this.#add(slot)
      const at = id * WORDS
      if (
        words[at] === a &&
        words[at + 1] === b &&
        words[at + 2] === c &&
        words[at + 3] === d &&
        words[at + 4] === e
      )
        return id
    }
  }

  #add(slot: number): number {
    const id = this.count
    this.count += 1
    if (this.count * WORDS > this.#words.length) {
      const words = new Uint32Array(Math.ceil((this.count * GROWTH) / 1_024) * 1_024 * WORDS)
      words.set(this.#words)
      free(this.#words)
      this.#words = words
    }
    this.#words.set(this.#wanted, id * WORDS)
    this.#slots[slot] = id
    if (this.count * SLOTS_PER_ADDRESS > this.#slots.length) this.#spread()
    return id
  }

  #spread(): void {
    const length = this.#slots.length * 2
    // Rebuilt from the words, so free it first.
    free(this.#slots)
    const slots = new Int32Array(length).fill(-1)
    const mask = slots.length - 1
    for (let id = 0; id < this.count; id += 1) {
      let slot = this.#hash(this.#words, id * WORDS) & mask
      while ((slots[slot] ?? -1) >= 0) slot = (slot + 1) & mask
      slots[slot] = id
    }
    this.#slots = slots
  }

  /** Mixes two words, because vanity addresses are not uniform. */
  #hash(words: Uint32Array, at: number): number {
    const mixed = Math.imul((words[at] ?? 0) ^ ((words[at + 4] ?? 0) >>> 7), 0x9e37_79b1)
    return (mixed ^ (mixed >>> 15) ^ (words[at + 2] ?? 0)) >>> 0
  }
}
