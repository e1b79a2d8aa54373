/** About 8,000 logs of 632 bytes: larger answers parse slower and take more memory. */
const BYTES_WANTED = 5_000_000
const BYTES_WANTED_MIN = 50_000

/** The first range; small enough for the strictest provider that sells archive access. */
const BLOCKS_START = 2_000

/** Bounds what one refusal costs, and what a mistaken guess brings down upon a node. */
const BLOCKS_MAX = 5_000_000

/** Logs come unevenly: a stretch without any says little about one eight times as long. */
const GROWTH_MAX = 8

/** What the answers before count next to the last one, which may be all but empty. */
const MEMORY = 0.25

/** Good answers until a refused size is tried again; doubled with each refusal. */
const CAUTION_START = 8
const CAUTION_MAX = 256

/** Answers differ; one in flight is reckoned with so much more than it should bring. */
const MARGIN = 1.2

/** Of a history that nothing is known of the blocks may be full: few are asked for at once. */
const UNKNOWN_MARGIN = 2

/** Chooses how many blocks the next range has, out of how many bytes the last ones held. */
export class RangeSizer {
  #bytesWanted = BYTES_WANTED
  #seen = { blocks: 0, bytes: 0 }
  /** The longest range that was answered lately. */
  #proven = BLOCKS_START / GROWTH_MAX
  /** No range is longer, for reasons that no refusal told. */
  #ceiling = BLOCKS_MAX
  /** The shortest range that was refused and not answered since. */
  #refused = Number.POSITIVE_INFINITY
  #caution = CAUTION_START
  #goodAnswers = 0

  /** Blocks of the next range. */
  blocks(): number {
    const perBlock = this.#bytesPerBlock
    const fitting = perBlock === 0 ? BLOCKS_MAX : this.#bytesWanted / perBlock
    const bounded = Math.min(fitting, this.#ceiling, this.#proven * GROWTH_MAX, BLOCKS_MAX)
    return Math.max(1, Math.floor(bounded))
  }

  /** Whether the next answer may change the size by much, so that one request at a time is best. */
  isFeelingItsWay(rangeMax: number | null): boolean {
    // Where no range may be longer than the first one, its answer changes nothing.
    if (this.#seen.blocks === 0) return rangeMax === null || rangeMax > BLOCKS_START
    return Math.min(this.blocks(), rangeMax ?? BLOCKS_MAX) > this.#proven * 2
  }

  /** How large the next answer may be, of an endpoint that allows so many blocks. */
  bytesExpected(rangeMax: number | null): number {
    if (this.#seen.blocks === 0) return this.#bytesWanted * UNKNOWN_MARGIN
    return this.#bytesPerBlock * Math.min(this.blocks(), rangeMax ?? BLOCKS_MAX) * MARGIN
  }

  /** A range was answered with so many bytes. */
  answered(blocks: number, bytes: number): void {
    // A well filled answer tells the density by itself, however long the thin stretch before it was.
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

  /** A range was refused for its size, or may have been; with what the node said would do. */
  refused(
    blocks: number,
    told: { readonly blocksMax?: number | undefined; readonly blocksThatFit?: number | undefined },
  ): void {
    // A cap of the endpoint is kept with the endpoint; the next one may have another.
    if (told.blocksMax !== undefined) return
    const smaller = Math.max(1, told.blocksThatFit ?? Math.floor(blocks / 2))
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

  /** What was refused has now been answered: it was what the blocks held, not how many they were. */
  #forgetRefusals(): void {
    this.#refused = Number.POSITIVE_INFINITY
    this.#ceiling = BLOCKS_MAX
    this.#caution = CAUTION_START
  }
}
