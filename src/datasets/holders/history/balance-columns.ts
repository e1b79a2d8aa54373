import { readWord } from '#chain/columns/hex-text.ts'
import { free } from '#lib/free.ts'

/** Four limbs of 32 bits for a value, and one more for the sign of a sum that is still under way. */
const LIMBS = 5
const SIGN_LIMB = LIMBS - 1

/** Limbs of a uint256 as it comes in and goes to the store. */
export const VALUE_LIMBS = 8

/** Half as many again: a column is copied now and then, and seldom stands half empty. */
const GROWTH = 1.5

/**
 * Balances by number in 20 bytes each, added to and taken from without an object. The few that ever
 * pass 128 bits are kept apart as big integers.
 */
export class BalanceColumns {
  #limbs: Uint32Array<ArrayBuffer>
  readonly #wide = new Map<number, bigint>()
  /** The value that was read last, and how many of its limbs are not zero. */
  readonly #value = new Uint32Array(VALUE_LIMBS)
  #length = 0

  constructor(room = 1_024) {
    this.#limbs = new Uint32Array(LIMBS * room)
  }

  /** Reads the uint256 whose 64 hex digits begin at `at`. */
  read(body: Uint8Array, at: number): void {
    this.#length = 0
    for (let limb = 0; limb < VALUE_LIMBS; limb += 1) {
      const word = readWord(body, at + (VALUE_LIMBS - 1 - limb) * 8)
      if (Number.isNaN(word)) throw new RangeError(`no hex digits at byte ${at}`)
      this.#value[limb] = word
      if (word !== 0) this.#length = limb + 1
    }
  }

  /** Adds the value that others read last. */
  addReadBy(others: BalanceColumns, id: number): void {
    this.#value.set(others.#value)
    this.#length = others.#length
    this.add(id)
  }

  /** Adds the value that was read last. */
  add(id: number): void {
    this.#reserve(id)
    if (this.#isWide(id)) {
      this.#wide.set(id, this.get(id) + this.#wideValue())
      return
    }
    const limbs = this.#limbs
    const base = id * LIMBS
    let carry = 0
    for (let limb = 0; limb < LIMBS; limb += 1) {
      if (limb >= this.#length && carry === 0) return
      const sum = (limbs[base + limb] ?? 0) + this.#limb(limb) + carry
      limbs[base + limb] = sum
      carry = sum > 0xffff_ffff ? 1 : 0
    }
    this.#keepSign(id)
  }

  /** Takes the value that was read last away; the balance may be less than nothing for a while. */
  subtract(id: number): void {
    this.#reserve(id)
    if (this.#isWide(id)) {
      this.#wide.set(id, this.get(id) - this.#wideValue())
      return
    }
    const limbs = this.#limbs
    const base = id * LIMBS
    let borrow = 0
    for (let limb = 0; limb < LIMBS; limb += 1) {
      if (limb >= this.#length && borrow === 0) return
      const difference = (limbs[base + limb] ?? 0) - this.#limb(limb) - borrow
      limbs[base + limb] = difference
      borrow = difference < 0 ? 1 : 0
    }
    this.#keepSign(id)
  }

  isPositive(id: number): boolean {
    const wide = this.#wideOf(id)
    if (wide !== undefined) return wide > 0n
    if (this.isNegative(id)) return false
    const base = id * LIMBS
    for (let limb = 0; limb < LIMBS; limb += 1)
      if ((this.#limbs[base + limb] ?? 0) !== 0) return true
    return false
  }

  isNegative(id: number): boolean {
    const wide = this.#wideOf(id)
    if (wide !== undefined) return wide < 0n
    return (this.#limbs[id * LIMBS + SIGN_LIMB] ?? 0) > 0x7fff_ffff
  }

  get(id: number): bigint {
    const wide = this.#wideOf(id)
    if (wide !== undefined) return wide
    const base = id * LIMBS
    let limb = SIGN_LIMB
    while (limb > 0 && (this.#limbs[base + limb] ?? 0) === 0) limb -= 1
    let value = BigInt(this.#limbs[base + limb] ?? 0)
    for (limb -= 1; limb >= 0; limb -= 1)
      value = (value << 32n) | BigInt(this.#limbs[base + limb] ?? 0)
    return this.isNegative(id) ? BigInt.asIntN(LIMBS * 32, value) : value
  }

  /** A copy of some balances, by their places in the list. */
  pick(ids: Float64Array): BalanceColumns {
    const picked = new BalanceColumns(ids.length)
    for (let place = 0; place < ids.length; place += 1) {
      const id = ids[place] ?? 0
      for (let limb = 0; limb < LIMBS; limb += 1)
        picked.#limbs[place * LIMBS + limb] = this.#limbs[id * LIMBS + limb] ?? 0
      const wide = this.#wideOf(id)
      if (wide !== undefined) picked.#wide.set(place, wide)
    }
    return picked
  }

  /** Balances of one number up to another, excluded, none of them negative, as uint256 of `VALUE_LIMBS` each. */
  words(from: number, to: number): Uint32Array<ArrayBuffer> {
    const words = new Uint32Array((to - from) * VALUE_LIMBS)
    for (let id = from; id < to; id += 1) {
      const wide = this.#wideOf(id)
      for (let limb = 0; limb < VALUE_LIMBS; limb += 1) {
        const narrow = limb < LIMBS ? (this.#limbs[id * LIMBS + limb] ?? 0) : 0
        words[(id - from) * VALUE_LIMBS + limb] =
          wide === undefined ? narrow : Number((wide >> BigInt(limb * 32)) & 0xffff_ffffn)
      }
    }
    return words
  }

  /** Gives the memory back; nothing may be read any more. */
  free(): void {
    free(this.#limbs)
  }

  set(id: number, balance: bigint): void {
    this.#reserve(id)
    if (BigInt.asIntN(SIGN_LIMB * 32, balance) !== balance) {
      this.#wide.set(id, balance)
      return
    }
    this.#wide.delete(id)
    let rest = balance
    for (let limb = 0; limb < LIMBS; limb += 1) {
      this.#limbs[id * LIMBS + limb] = Number(rest & 0xffff_ffffn)
      rest >>= 32n
    }
  }

  #limb(limb: number): number {
    return limb < this.#length ? (this.#value[limb] ?? 0) : 0
  }

  /** Whether the sum of a balance and the value has to be made of big integers. */
  #isWide(id: number): boolean {
    return this.#length > SIGN_LIMB || this.#wideOf(id) !== undefined
  }

  #wideOf(id: number): bigint | undefined {
    return this.#wide.size === 0 ? undefined : this.#wide.get(id)
  }

  #wideValue(): bigint {
    let value = 0n
    for (let limb = VALUE_LIMBS - 1; limb >= 0; limb -= 1)
      value = (value << 32n) | BigInt(this.#limb(limb))
    return value
  }

  /** A sum that comes near the end of its last limb is kept apart before it can pass it. */
  #keepSign(id: number): void {
    const top = this.#limbs[id * LIMBS + SIGN_LIMB] ?? 0
    if (top > 0x3fff_ffff && top < 0xc000_0000) this.#wide.set(id, this.get(id))
  }

  #reserve(id: number): void {
    if ((id + 1) * LIMBS <= this.#limbs.length) return
    const count = Math.max(Math.ceil((this.#limbs.length / LIMBS) * GROWTH), id + 1)
    const limbs = new Uint32Array(count * LIMBS)
    limbs.set(this.#limbs)
    free(this.#limbs)
    this.#limbs = limbs
  }
}
