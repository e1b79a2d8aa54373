import { type AccountTable, TREASURY_INDEX } from './account-table.ts'
import { benchAddresses } from './bench-ecosystem.ts'
import { dataStart, eventKinds, KIND, topicStart } from './event-kinds.ts'
import { writeWord32, writeWord48 } from './hex-writer.ts'
import type { LogStore } from './log-store.ts'
import type { RandomWords } from './random-words.ts'
import { TokenLife } from './token-life.ts'
import { fromWide, toWide, type Wide } from './wide-balances.ts'

/** Shares of the logs in thousandths, added up; what is left are payments to the operator. */
const UNTIL = {
  transfer: 959,
  claim: 979,
  dig: 981,
  sync: 991,
  distribution: 994,
  answer: 999,
} as const

/** Three of ten transfers are of the second token. */
const CRYPT_SHARE = 0.3

const MINTED = 10n ** 27n
const DOLLARS_PER_ETHER = 3_000
const TOKENS_IN_POOL = 20_000_000
const ETHER_IN_POOL = 500
/** A swap moves a price by up to this share, up or down. */
const SWAP_SHARE = 0.004

/** How many of something there were and what they came to. */
export interface Tally {
  count: number
  amount: bigint
}

/** What happens on the chain: writes the next log's arguments and keeps the state behind it. */
export class ChainLife {
  /** The ecosystem begins with these logs: two mints, two moves to the treasury, three prices. */
  readonly foundingLogs = 7
  readonly grave: TokenLife
  readonly crypt: TokenLife
  readonly claims = { usdc: tally(), weth: tally() }
  readonly distributions = tally()
  readonly digs = tally()
  readonly payments = tally()
  readonly logsByKind = new Float64Array(eventKinds.length)
  /** The newest data of each pool and of the feed, as `eth_call` answers with it. */
  readonly reserves = { grave: [0n, 0n], crypt: [0n, 0n] }
  ethUsd = DOLLARS_PER_ETHER
  readonly #accounts: AccountTable
  readonly #random: RandomWords
  readonly #amount: Wide = { high: 0, low: 0 }
  readonly #pools = {
    grave: { tokens: TOKENS_IN_POOL, ether: ETHER_IN_POOL },
    crypt: { tokens: TOKENS_IN_POOL, ether: ETHER_IN_POOL },
  }

  constructor(accounts: AccountTable, random: RandomWords, logs: number) {
    this.#accounts = accounts
    this.#random = random
    this.grave = new TokenLife(accounts, random, logs)
    this.crypt = new TokenLife(accounts, random, logs)
  }

  writeNext(logs: LogStore, timeUnix: number): void {
    const draw = this.#random.below(1_000)
    if (draw < UNTIL.transfer) this.#transfer(logs, timeUnix)
    else if (draw < UNTIL.claim) this.#claim(logs)
    else if (draw < UNTIL.dig) this.#dig(logs)
    else if (draw < UNTIL.sync) this.#sync(logs, this.#random.below(2) === 0 ? 'grave' : 'crypt')
    else if (draw < UNTIL.distribution) this.#distribution(logs)
    else if (draw < UNTIL.answer) this.#answer(logs, timeUnix)
    else this.#payment(logs)
  }

  writeFounding(logs: LogStore, index: number, timeUnix: number): void {
    const { zero } = this.#accounts
    const amount = toWide(index < 2 ? MINTED : MINTED / 20n)
    const [from, to] = index < 2 ? [zero, 0] : [0, TREASURY_INDEX]
    if (index === 4) this.#answer(logs, timeUnix)
    else if (index > 4) this.#sync(logs, index === 5 ? 'grave' : 'crypt')
    else this.#move(logs, { crypt: index % 2 === 1, from, to, amount, timeUnix })
  }

  /** USDC between strangers: of the right contract and event, but of no recipient asked for. */
  writeNoise(logs: LogStore): void {
    this.#random48(2 ** 40)
    this.#write(logs, KIND.noise, [this.#holder(), this.#holder()])
  }

  #transfer(logs: LogStore, timeUnix: number): void {
    const crypt = this.#random.unit() < CRYPT_SHARE
    const { from, to } = (crypt ? this.crypt : this.grave).draw(this.#amount)
    this.#move(logs, { crypt, from, to, amount: this.#amount, timeUnix })
  }

  #move(
    logs: LogStore,
    move: {
      readonly crypt: boolean
      readonly from: number
      readonly to: number
      readonly amount: Wide
      readonly timeUnix: number
    },
  ): void {
    const { crypt, from, to, amount } = move
    const life = crypt ? this.crypt : this.grave
    life.move(move)
    this.#amount.high = amount.high
    this.#amount.low = amount.low
    this.#write(logs, crypt ? KIND.cryptTransfer : KIND.graveTransfer, [from, to])
  }

  #claim(logs: LogStore): void {
    const isUsdc = this.#random.unit() < 0.6
    this.#random48(isUsdc ? 2 ** 31 : 2 ** 48)
    count(isUsdc ? this.claims.usdc : this.claims.weth, this.#amount)
    const token = isUsdc ? this.#accounts.usdc : this.#accounts.weth
    this.#write(logs, KIND.claim, [this.#holder(), token])
  }

  #distribution(logs: LogStore): void {
    this.#random48(2 ** 40)
    count(this.distributions, this.#amount)
    this.#write(logs, KIND.distribution, [this.#accounts.usdc])
  }

  #dig(logs: LogStore): void {
    this.#amount.high = 1 + this.#random.below(2 ** 24)
    this.#amount.low = this.#random.word48()
    count(this.digs, this.#amount)
    const { view, start } = this.#write(logs, KIND.dig, [this.#holder()])
    writeWord32(view, start + topicStart(2) + 56, this.digs.count)
  }

  #payment(logs: LogStore): void {
    this.#random48(2 ** 27)
    count(this.payments, this.#amount)
    this.#write(logs, KIND.payment, [this.#holder(), this.#accounts.payTo])
  }

  #sync(logs: LogStore, name: 'grave' | 'crypt'): void {
    const pool = this.#pools[name]
    const step = 1 + (this.#random.unit() - 0.5) * 2 * SWAP_SHARE
    pool.tokens *= step
    pool.ether /= step
    const token = toUnits(pool.tokens, this.#random)
    const ether = toUnits(pool.ether, this.#random)
    const tokenFirst = benchAddresses[name] < benchAddresses.weth
    const [first, second] = tokenFirst ? [token, ether] : [ether, token]
    this.reserves[name] = [fromWide(first), fromWide(second)]
    const kind = name === 'grave' ? KIND.graveSync : KIND.cryptSync
    this.#amount.high = first.high
    this.#amount.low = first.low
    const { view, start } = this.#write(logs, kind, [])
    this.#writeAmount(view, start + (kindOf(kind).data + 64), second)
  }

  #answer(logs: LogStore, timeUnix: number): void {
    this.ethUsd *= 1 + (this.#random.unit() - 0.5) * 2 * SWAP_SHARE
    this.#amount.high = 0
    this.#amount.low = timeUnix
    const { view, start } = this.#write(logs, KIND.answer, [])
    writeWord48(view, start + topicStart(1) + 52, this.answer)
    writeWord32(view, start + topicStart(2) + 56, this.logsByKind[KIND.answer] ?? 0)
  }

  /** The feed's newest answer, with 8 decimals. */
  get answer(): number {
    return Math.round(this.ethUsd * 1e8)
  }

  #holder(): number {
    return this.#random.zipf(this.#accounts.holders)
  }

  #random48(limit: number): void {
    this.#amount.high = 0
    this.#amount.low = 1 + (this.#random.word48() % (limit - 1))
  }

  /** Begins a log with accounts as its indexed arguments and the drawn amount as its data. */
  #write(logs: LogStore, kind: number, accounts: readonly number[]) {
    this.logsByKind[kind] = (this.logsByKind[kind] ?? 0) + 1
    const log = logs.begin(kind)
    for (let index = 0; index < accounts.length; index += 1)
      this.#accounts.write(log.view, log.start + topicStart(index + 1) + 24, accounts[index] ?? 0)
    this.#writeAmount(log.view, log.start + kindOf(kind).data, this.#amount)
    return log
  }

  #writeAmount(view: DataView, at: number, { high, low }: Wide): void {
    writeWord48(view, at + 40, high)
    writeWord48(view, at + 52, low)
  }
}

const layouts = eventKinds.map((kind) => ({ data: dataStart(kind) }))

function kindOf(kind: number): { readonly data: number } {
  return layouts[kind] ?? { data: 0 }
}

function tally(): Tally {
  return { count: 0, amount: 0n }
}

function count(into: Tally, amount: Wide): void {
  into.count += 1
  into.amount += fromWide(amount)
}

/** Whole tokens as base units of 18 decimals; the digits that a double lacks are random. */
function toUnits(tokens: number, random: RandomWords): Wide {
  return { high: Math.floor((tokens * 1e18) / 2 ** 48), low: random.word48() }
}
