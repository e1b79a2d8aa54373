/** What callers saw of one bucket on one UTC day. */
export class BucketDay {
  /** Answers 200 that a free unit paid for. */
  free = 0
  /** Answers 200 that the prepaid balance paid for. */
  paid = 0
  /** The largest quota that any answer named. */
  quotaMost = 0
  #units = new Uint8Array(16)

  /** Notes which unit of the day an answer took; false when another answer had it already. */
  take(unit: number): boolean {
    const byte = unit >> 3
    if (byte >= this.#units.length) {
      const larger = new Uint8Array(Math.max(byte + 1, this.#units.length * 2))
      larger.set(this.#units)
      this.#units = larger
    }
    const bit = 1 << (unit & 7)
    const before = this.#units[byte] ?? 0
    this.#units[byte] = before | bit
    return (before & bit) === 0
  }
}
