const BYTES_WANTED = 5_000_000
const BYTES_WANTED_MIN = 50_000

/** Fits the strictest archive provider. */
const BLOCKS_START = 2_000

/** Bounds a wrong guess. */
const BLOCKS_MAX = 5_000_000

const GROWTH_MAX = 8

/** Low: the latest response may be nearly empty. */
const MEMORY = 0.25

/** Good responses before a refused size is retried; doubles per refusal. */
const CAUTION_START = 8
const CAUTION_MAX = 256

const MARGIN = 1.2

const UNKNOWN_MARGIN = 2

export class RangeSizer {
  #bytesWanted = BYTES_WANTED
  #seen = { blocks: 0, bytes: 0 }
  #proven = BLOCKS_START / GROWTH_MAX
  /** The limit that refusals suggest without naming it. */
  #ceiling = BLOCKS_MAX
  #refused = Number.POSITIVE_INFINITY
  #caution = CAUTION_START
  #goodAnswers = 0

  blocks(): number {
    const perBlock = this.#bytesPerBlock
    const fitting = perBlock === 0 ? BLOCKS_MAX : this.#bytesWanted / perBlock
    const bounded = Math.min(fitting, this.#ceiling, this.#proven * GROWTH_MAX, BLOCKS_MAX)
    return Math.max(1, Math.floor(bounded))
  }

  /** Whether the size may still change much; then requests go one at a time. */
  isFeelingItsWay(rangeMax: number | null): boolean {
    if (this.#seen.blocks === 0) return rangeMax === null || rangeMax > BLOCKS_START
    return Math.min(this.blocks(), rangeMax ?? BLOCKS_MAX) > this.#proven * 2
  }

  bytesExpected(rangeMax: number | null): number {
    if (this.#seen.blocks === 0) return this.#bytesWanted * UNKNOWN_MARGIN
    return this.#bytesPerBlock * Math.min(this.blocks(), rangeMax ?? BLOCKS_MAX) * MARGIN
  }

  answered(blocks: number, bytes: number): void {
    // Only a well-filled response shows the density.
    const memory = bytes > this.#bytesWanted / 4 ? 0 : MEMORY
    this.#seen = {
      blocks: this.#seen.blocks * memory + blocks,
      bytes: this.#seen.bytes * memory + bytes,
    }
    if (blocks >= this.#refused) this.#forgetRefusals()
    this.#proven = Math.max(blocks, Math.min(this.#proven, this.blocks()))
    this.#goodAnswers += 1
    if (this.#goodAnswers < this.#caution) return
    this.#goodAnswers = 0
    this.#ceiling = Math.min(BLOCKS_MAX, this.#ceiling * 2)
    this.#bytesWanted = Math.min(BYTES_WANTED, this.#bytesWanted * 1.25)
  }

  refused(
    blocks: number,
    limits: {
      readonly blocksMax?: number | undefined
      readonly blocksThatFit?: number | undefined
    },
  ): void {
    // The endpoint remembers its own cap.
    if (limits.blocksMax !== undefined) return
    const smaller = Math.max(1, limits.blocksThatFit ?? Math.floor(blocks / 2))
    const expected = this.#bytesPerBlock * blocks
    if (expected > this.#bytesWanted / 2 && expected < this.#bytesWanted * 2)
      this.#bytesWanted = Math.max(BYTES_WANTED_MIN, this.#bytesWanted * 0.75)
    this.#refused = Math.min(this.#refused, blocks)
    this.#ceiling = Math.min(this.#ceiling, smaller)
    this.#proven = Math.min(this.#proven, smaller)
    this.#caution = Math.min(CAUTION_MAX, this.#caution * 2)
    this.#goodAnswers = 0
  }

  get #bytesPerBlock(): number {
    return this.#seen.blocks === 0 ? 0 : this.#seen.bytes / this.#seen.blocks
  }

  /** The refused length now works: content was the limit. */
  #forgetRefusals(): void {
    this.#refused = Number.POSITIVE_INFINITY
    this.#ceiling = BLOCKS_MAX
    this.#caution = CAUTION_START
  }
}
