import { readWord } from '#chains/chain/columns/hex-text.ts'
import { free } from '#lib/free.ts'

/** Four 32-bit limbs for the value, one for the sign. */
const LIMBS = 5
const SIGN_LIMB = LIMBS - 1

/** 32-bit limbs of a uint256. */
const VALUE_LIMBS = 8

/** Enough for sums of 2^63 uint256 values of either sign. */
const WIDE_LIMBS = 10

const GROWTH = 1.5

export interface PackedBalances {
  readonly words: Uint32Array<ArrayBuffer>
  readonly width: number
}

export class BalanceColumns {
  #limbs: Uint32Array<ArrayBuffer>
  readonly #wide = new Map<number, bigint>()
  readonly #value = new Uint32Array(VALUE_LIMBS)
  #length = 0

  constructor(room = 1_024) {
    this.#limbs = new Uint32Array(LIMBS * room)
  }

  read(body: Uint8Array, at: number): void {
    this.#length = 0
    for (let limb = 0; limb < VALUE_LIMBS; limb += 1) {
      const word = readWord(body, at + (VALUE_LIMBS - 1 - limb) * 8)
      if (Number.isNaN(word)) throw new RangeError(`no hex digits at byte ${at}`)
      this.#value[limb] = word
      if (word !== 0) this.#length = limb + 1
    }
  }

  /** Whether the value that was read last is zero. */
  hasReadZero(): boolean {
    return this.#length === 0
  }

  addReadBy(others: BalanceColumns, id: number): void {
    this.#value.set(others.#value)
    this.#length = others.#length
    this.add(id)
  }

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

  /** The balance may be negative for a while. */
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

  isZero(id: number): boolean {
    return !this.isPositive(id) && !this.isNegative(id)
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

  /** Call in the order of `id`, once each. */
  copy(id: number, others: BalanceColumns, from: number): void {
    this.#reserve(id)
    for (let limb = 0; limb < LIMBS; limb += 1)
      this.#limbs[id * LIMBS + limb] = others.#limbs[from * LIMBS + limb] ?? 0
    const wide = others.#wideOf(from)
    if (wide !== undefined) this.#wide.set(id, wide)
  }

  /** Copies balances, indexed by position. */
  pick(ids: Float64Array): BalanceColumns {
    const picked = new BalanceColumns(ids.length)
    for (let place = 0; place < ids.length; place += 1) picked.copy(place, this, ids[place] ?? 0)
    return picked
  }

  /** Two's complement, lowest word first; `to` is excluded. */
  packed(from: number, to: number): PackedBalances {
    const isWide = [...this.#wide.keys()].some((id) => id >= from && id < to)
    const width = isWide ? WIDE_LIMBS : LIMBS
    const words = new Uint32Array((to - from) * width)
    for (let id = from; id < to; id += 1) {
      const wide = this.#wideOf(id)
      const negative = wide === undefined && this.isNegative(id) ? 0xffff_ffff : 0
      for (let limb = 0; limb < width; limb += 1) {
        const narrow = limb < LIMBS ? (this.#limbs[id * LIMBS + limb] ?? 0) : negative
        words[(id - from) * width + limb] =
          wide === undefined ? narrow : Number((wide >> BigInt(limb * 32)) & 0xffff_ffffn)
      }
    }
    return { words, width }
  }

  /** Releases the memory; do not use the columns afterwards. */
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

  /** Moves a sum near the limit to `#wide` before it overflows. */
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
