/** Pseudo-random 32-bit words that a seed fixes for ever (sfc32: 128 bits of state, fast). */
export class RandomWords {
  #a: number
  #b: number
  #c: number
  #counter = 1

  constructor(seed: number) {
    this.#a = mixWord(seed, 1) | 0
    this.#b = mixWord(seed, 2) | 0
    this.#c = mixWord(seed, 3) | 0
    for (let round = 0; round < 12; round += 1) this.next()
  }

  /** A whole number from 0 to 2^32 - 1. */
  next(): number {
    const sum = (((this.#a + this.#b) | 0) + this.#counter) | 0
    this.#counter = (this.#counter + 1) | 0
    this.#a = this.#b ^ (this.#b >>> 9)
    this.#b = (this.#c + (this.#c << 3)) | 0
    this.#c = (((this.#c << 21) | (this.#c >>> 11)) + sum) | 0
    return sum >>> 0
  }

  /** A number from 0 up to 1, without 1. */
  unit(): number {
    return this.next() / 2 ** 32
  }

  /** A whole number from 0 up to the limit, without the limit. */
  below(limit: number): number {
    return Math.floor(this.unit() * limit)
  }

  /** A whole number of 48 bits. */
  word48(): number {
    return (this.next() & 0xffff) * 2 ** 32 + this.next()
  }

  /** How many of something come where `exp(-limit)` is given of the mean (Knuth). */
  poisson(expOfMinusMean: number): number {
    let count = 0
    for (let product = this.unit(); product > expOfMinusMean; product *= this.unit()) count += 1
    return count
  }

  /** A rank below `count`; rank r comes about 1/(r + 1) as often as rank 0 (Zipf's law). */
  zipf(count: number): number {
    const rank = Math.floor(Math.exp(this.unit() * Math.log(count + 1))) - 1
    return rank < count ? rank : count - 1
  }
}

/** Scrambles two whole numbers into a 32-bit word (the finalizer of MurmurHash3). */
export function mixWord(left: number, right: number): number {
  let word = Math.imul(left ^ Math.imul(right, 0x9e3779b1), 0x85ebca6b)
  word = Math.imul(word ^ (word >>> 15) ^ right, 0xc2b2ae35)
  word = Math.imul(word ^ (word >>> 13), 0x27d4eb2f)
  return (word ^ (word >>> 16)) >>> 0
}
