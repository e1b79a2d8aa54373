import { hash } from 'node:crypto'
import { ChainLife, FOUNDING, kindNumbers, type LogArguments } from './chain-life.ts'
import { type EventKind, eventKinds } from './event-kinds.ts'
import { LogFile } from './log-file.ts'
import { randomOf } from './random.ts'

type Hex = `0x${string}`

export interface ChainOptions {
  /** Logs that an index of the ecosystem wants; about 1 % more are noise. */
  readonly logs: number
  readonly seed: number
  /** Time of the newest block. */
  readonly endUnix: number
}

/** The history spans the two years before its newest block. */
const SPAN_SECONDS = 2 * 365 * 86_400
const LOGS_PER_BLOCK = 2
/** In one block of so many somebody moves USDC that nobody here asks for. */
const BLOCKS_PER_NOISE = 50
/** A log of four shares the transaction of the log before it. */
const LOGS_PER_SHARED_TRANSACTION = 4
/** Other contracts' logs and transactions come before ours in a block. */
const FOREIGN_MAX = 64

/** A deterministic chain of the local ecosystem's logs. Block 1 founds the ecosystem. */
export class SyntheticChain {
  readonly head: number
  readonly life: ChainLife
  readonly logs: LogFile
  readonly #options: ChainOptions
  readonly #firstLogs: Uint32Array

  constructor(options: ChainOptions) {
    const { logs, seed } = options
    this.#options = options
    this.head = Math.ceil(logs / LOGS_PER_BLOCK)
    this.life = new ChainLife(options)
    this.logs = new LogFile(logs + this.head + 1)
    this.#firstLogs = new Uint32Array(this.head + 2)
    const random = randomOf(seed + 1)
    for (let number = 1, made = 0; number <= this.head; number += 1) {
      this.#firstLogs[number] = this.logs.count
      const end = this.#logsUntil(number, random)
      const noise = number > 1 && random() * BLOCKS_PER_NOISE < 1
      this.#addBlock(number, { made, end: Math.max(made, end), noise })
      made = Math.max(made, end)
    }
    this.#firstLogs[this.head + 1] = this.logs.count
    this.logs.flush()
  }

  timeOf(number: number): number {
    const age = Math.round(((this.head - number) / this.head) * SPAN_SECONDS)
    return this.#options.endUnix - age
  }

  /** The first log of a block or of the blocks after it. */
  firstLog(number: number): number {
    return this.#firstLogs[Math.min(number, this.head + 1)] ?? 0
  }

  /** The hash begins with the number, so that it leads back to its block. */
  hashOf(number: number): Hex {
    const digits = hash('sha256', `${this.#options.seed} block ${number}`).slice(8)
    return `0x${number.toString(16).padStart(8, '0')}${digits}`
  }

  numberOf(blockHash: string): number | undefined {
    const number = Number.parseInt(blockHash.slice(2, 10), 16)
    return number <= this.head && this.hashOf(number) === blockHash ? number : undefined
  }

  /** The transactions of a block: their hashes, places and the kinds of their first logs. */
  transactionsOf(number: number) {
    const found: { hash: Hex; index: number; kind: EventKind }[] = []
    for (let log = this.firstLog(number); log < this.firstLog(number + 1); log += 1) {
      const kind = eventKinds[this.logs.kindOf(log)]
      if (kind === undefined || !this.#beginsTransaction(number, log)) continue
      const ordinal = found.length
      const index = foreignOf(number) + ordinal
      found.push({ hash: this.#transactionHash(number, ordinal), index, kind })
    }
    return found
  }

  /** Two logs a block on average, from none to four; all that were asked for until the head. */
  #logsUntil(number: number, random: () => number): number {
    const { logs } = this.#options
    if (number === this.head) return logs
    const even = FOUNDING.length + LOGS_PER_BLOCK * (number - 1)
    return Math.min(logs, number === 1 ? even : even + Math.floor(random() * 3) - 1)
  }

  #addBlock(
    number: number,
    { made, end, noise }: { readonly made: number; readonly end: number; readonly noise: boolean },
  ): void {
    const timeUnix = this.timeOf(number)
    const write = this.#writer(number, timeUnix)
    if (noise) write(this.life.noise(timeUnix))
    for (let index = made; index < end; index += 1)
      write(number === 1 ? this.life.found(index, timeUnix) : this.life.next(timeUnix))
  }

  #writer(number: number, timeUnix: number): (log: LogArguments) => void {
    const first = this.logs.count
    const foreign = foreignOf(number)
    const block = `"blockHash":"${this.hashOf(number)}","blockTimestamp":"0x${timeUnix.toString(16)}"`
    const blockNumber = number.toString(16)
    let ordinal = -1
    let transaction = ''
    return ({ kind, topics, data }) => {
      const log = this.logs.count
      if (this.#beginsTransaction(number, log)) {
        ordinal += 1
        const index = (foreign + ordinal).toString(16)
        transaction = `"transactionHash":"${this.#transactionHash(number, ordinal)}","transactionIndex":"0x${index}"`
      }
      const kindNumber = kindNumbers.get(kind) ?? 0
      const logIndex = (foreign + log - first).toString(16)
      const words = topics.map((each) => `,"0x${each}"`).join('')
      this.logs.append(
        kindNumber,
        `{"address":"${eventKinds[kindNumber]?.address}","topics":["${eventKinds[kindNumber]?.topic0}"${words}],"data":"0x${data}","blockNumber":"0x${blockNumber}",${transaction},${block},"logIndex":"0x${logIndex}","removed":false},`,
      )
    }
  }

  #beginsTransaction(number: number, log: number): boolean {
    return log === this.firstLog(number) || log % LOGS_PER_SHARED_TRANSACTION !== 0
  }

  #transactionHash(number: number, ordinal: number): Hex {
    return `0x${hash('sha256', `${this.#options.seed} transaction ${number} ${ordinal}`)}`
  }
}

function foreignOf(number: number): number {
  return number % FOREIGN_MAX
}
