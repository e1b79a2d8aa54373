import { AccountTable } from './account-table.ts'
import { BlockIndex } from './block-index.ts'
import { ChainLife } from './chain-life.ts'
import { LogStore } from './log-store.ts'
import { mixWord, RandomWords } from './random-words.ts'

export interface ChainOptions {
  /** Logs that an index of the ecosystem wants; about 1 % more are noise. */
  readonly logs: number
  readonly seed: number
  /** Time of the newest block; the history spans the two years before. */
  readonly endUnix: number
  /** Whether logs carry `blockTimestamp`, as most nodes send it today. */
  readonly timestamps: boolean
}

/** The made-up history spans two years. */
const SPAN_SECONDS = 2 * 365 * 86_400

const LOGS_PER_BLOCK = 2

/** One holder for so many logs. */
const LOGS_PER_HOLDER = 10

/** exp(-2): two logs per block on average. */
const EXP_OF_MINUS_LOGS = Math.exp(-LOGS_PER_BLOCK)

/** In one block of so many somebody moves USDC that nobody here asks for. */
const BLOCKS_PER_NOISE = 50

/** A log of four shares the transaction of the log before it. */
const LOGS_PER_SHARED_TRANSACTION = 4

/** Other contracts' logs and transactions come before ours in a block. */
const FOREIGN_MAX = 64

/** Logs that the drawn counts lack or have too many are spread with a seed of their own. */
const SPREAD_SEED = 77

/** A deterministic chain of an ecosystem's logs, ready to be served and to be grown at its head. */
export class SyntheticChain {
  readonly options: ChainOptions
  readonly accounts: AccountTable
  readonly logs = new LogStore()
  readonly blocks: BlockIndex
  readonly life: ChainLife
  readonly #random: RandomWords

  constructor(options: ChainOptions) {
    const blocks = Math.ceil(options.logs / LOGS_PER_BLOCK)
    const { seed } = options
    this.options = options
    this.accounts = new AccountTable(Math.max(10, Math.floor(options.logs / LOGS_PER_HOLDER)), seed)
    this.blocks = new BlockIndex(seed, blocks + 1)
    this.#random = new RandomWords(seed)
    this.life = new ChainLife(this.accounts, this.#random, options.logs)
    this.#found(blocks)
  }

  /** Adds a block at the head, as a live chain does. */
  grow(timeUnix: number): void {
    this.#addBlock(Math.max(timeUnix, this.blocks.timeOf(this.blocks.head)), this.#drawCount())
  }

  /** Where the transactions of a block begin: foreign ones come first. */
  foreignCount(number: number): number {
    return mixWord(this.options.seed + 60, number) % FOREIGN_MAX
  }

  /** Whether a log is of the same transaction as the log before it in its block. */
  sharesTransaction(log: number): boolean {
    return mixWord(this.options.seed + 61, log) % LOGS_PER_SHARED_TRANSACTION === 0
  }

  #found(blocks: number): void {
    const counts = this.#drawCounts(blocks)
    const { endUnix } = this.options
    this.blocks.add(endUnix - SPAN_SECONDS, 0)
    for (let number = 1; number <= blocks; number += 1) {
      const age = Math.round(((blocks - number) / blocks) * SPAN_SECONDS)
      this.#addBlock(endUnix - age, counts[number] ?? 0)
    }
  }

  /** Logs per block, exactly as many as asked for in all; block 1 founds the ecosystem. */
  #drawCounts(blocks: number): Uint8Array {
    const counts = new Uint8Array(blocks + 1)
    counts[1] = this.life.foundingLogs
    let left = this.options.logs - this.life.foundingLogs
    for (let number = 2; number <= blocks; number += 1) {
      const count = this.#drawCount()
      counts[number] = count
      left -= count
    }
    const spread = new RandomWords(this.options.seed + SPREAD_SEED)
    while (left !== 0) {
      const number = 2 + spread.below(blocks - 1)
      const count = counts[number] ?? 0
      const step = left > 0 ? 1 : -Math.min(1, count)
      counts[number] = count + step
      left -= step
    }
    return counts
  }

  #drawCount(): number {
    return this.#random.poisson(EXP_OF_MINUS_LOGS)
  }

  #addBlock(timeUnix: number, count: number): void {
    const number = this.blocks.head + 1
    const noise = this.#random.below(BLOCKS_PER_NOISE) === 0 && number > 1 ? 1 : 0
    const noiseAt = noise * this.#random.below(count + 1)
    const place = this.#placeIn(number, timeUnix)
    for (let index = 0; index < count + noise; index += 1) {
      if (noise === 1 && index === noiseAt) this.life.writeNoise(this.logs)
      else if (number === 1) this.life.writeFounding(this.logs, index, timeUnix)
      else this.life.writeNext(this.logs, timeUnix)
      if (index === 0 || !this.sharesTransaction(this.logs.count)) place.transactionOrdinal += 1
      place.transactionIndex = place.foreign + place.transactionOrdinal
      place.logIndex = place.foreign + index
      this.logs.end(place)
    }
    this.blocks.add(timeUnix, this.logs.count)
  }

  #placeIn(number: number, timeUnix: number) {
    const { blocks } = this
    const time = this.options.timestamps ? `","blockTimestamp":"0x${timeUnix.toString(16)}` : ''
    return {
      beforeTransaction: Buffer.from(
        `,"blockNumber":"0x${number.toString(16)}","transactionHash":"0x`,
      ),
      beforeLogIndex: Buffer.from(`","blockHash":"${blocks.hashOf(number)}${time}","logIndex":"0x`),
      foreign: this.foreignCount(number),
      transactionOrdinal: -1,
      transactionIndex: 0,
      logIndex: 0,
      transactionWord(word: number): number {
        return blocks.transactionWord(number, this.transactionOrdinal, word)
      },
    }
  }
}
