import type { Address } from '#domain/address.ts'

/** Contracts that the index finds by itself, each with the block from which its logs count. */
export class FoundContracts {
  readonly chainId: number
  /** Names their origin in the register. */
  readonly key: string
  readonly #blocks = new Map<Address, number>()

  constructor(chainId: number, key: string) {
    this.chainId = chainId
    this.key = key
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

  add(address: Address, block: number): void {
    this.#blocks.set(address, Math.min(block, this.countsFrom(address) ?? block))
  }

  forgetAbove(block: number): void {
    for (const [address, from] of this.#blocks) if (from > block) this.#blocks.delete(address)
  }
}
