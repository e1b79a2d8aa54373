import type { Address } from '#base/address.ts'

/** Bounds memory, and what a dishonest factory can cost: its contracts are followed from the first one on. */
const FOUND_MAX = 100_000

/** Contracts that the index finds by itself, each with the block from which its logs count. */
export class FoundContracts {
  readonly chainId: number
  /** Names their origin in the register. */
  readonly key: string
  readonly max: number
  #blocks = new Map<Address, number>()

  constructor(chainId: number, key: string, max = FOUND_MAX) {
    this.chainId = chainId
    this.key = key
    this.max = max
  }

  get size(): number {
    return this.#blocks.size
  }

  get addresses(): readonly Address[] {
    return [...this.#blocks.keys()]
  }

  /** Undefined if it is not one of them. */
  countsFrom(address: string): number | undefined {
    return this.#blocks.get(address as Address)
  }

  counts(address: string, block: number): boolean {
    return block >= (this.countsFrom(address) ?? Number.POSITIVE_INFINITY)
  }

  /** Keeps the first `max` by block and address, as the register does. */
  add(found: Iterable<readonly [Address, number]>): void {
    for (const [address, block] of found)
      this.#blocks.set(address, Math.min(block, this.countsFrom(address) ?? block))
    if (this.size <= this.max) return
    const ordered = [...this.#blocks].sort(([a, i], [b, j]) => i - j || (a < b ? -1 : 1))
    this.#blocks = new Map(ordered.slice(0, this.max))
  }

  forgetAbove(block: number): void {
    for (const [address, from] of this.#blocks) if (from > block) this.#blocks.delete(address)
  }
}
