const HALF = 2 ** 48

/** A whole number below 2^96 in two halves of 48 bits: exact, and free of allocations. */
export interface Wide {
  high: number
  low: number
}

export function toWide(value: bigint): Wide {
  return { high: Number(value >> 48n), low: Number(value & 0xffff_ffff_ffffn) }
}

export function fromWide({ high, low }: Wide): bigint {
  return (BigInt(high) << 48n) | BigInt(low)
}

/** Balances of one token by account; they never go below zero. */
export class WideBalances {
  readonly #high: Float64Array
  readonly #low: Float64Array

  constructor(accounts: number) {
    this.#high = new Float64Array(accounts)
    this.#low = new Float64Array(accounts)
  }

  /** Whether an account has anything. */
  holds(index: number): boolean {
    return (this.#high[index] ?? 0) > 0 || (this.#low[index] ?? 0) > 0
  }

  of(index: number): bigint {
    return fromWide({ high: this.#high[index] ?? 0, low: this.#low[index] ?? 0 })
  }

  /** Sets `out` to about a share of a balance, its lower digits as random as `low` is. */
  share(out: Wide, index: number, part: { readonly share: number; readonly low: number }): void {
    const high = this.#high[index] ?? 0
    out.high = Math.floor(high * part.share)
    out.low = out.high < high ? part.low : Math.floor((this.#low[index] ?? 0) * part.share)
  }

  add(index: number, amount: Wide): void {
    const low = (this.#low[index] ?? 0) + amount.low
    const carry = low >= HALF ? 1 : 0
    this.#low[index] = low - carry * HALF
    this.#high[index] = (this.#high[index] ?? 0) + amount.high + carry
  }

  subtract(index: number, amount: Wide): void {
    const low = (this.#low[index] ?? 0) - amount.low
    const borrow = low < 0 ? 1 : 0
    const high = (this.#high[index] ?? 0) - amount.high - borrow
    if (high < 0) throw new RangeError(`account ${index} has less than it sends`)
    this.#low[index] = low + borrow * HALF
    this.#high[index] = high
  }
}
