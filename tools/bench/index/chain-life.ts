import { hash } from 'node:crypto'
import { benchAddresses as at } from './bench-ecosystem.ts'
import { eventKinds, type KindName } from './event-kinds.ts'
import { randomOf } from './random.ts'
import { type Account, TokenLife, TREASURY, type Transfer, zipf } from './token-life.ts'

/** What a log says, as words of 64 digits. */
export interface LogArguments {
  readonly kind: KindName
  /** Without topic 0. */
  readonly topics: readonly string[]
  readonly data: string
}

/** One holder for so many logs. */
const LOGS_PER_HOLDER = 10
const HOLDERS_MIN = 10

/** Shares of the logs in thousandths, added up; what is left are payments to the operator. */
const UNTIL: readonly (readonly [KindName, number])[] = [
  ['grave', 671],
  ['crypt', 959],
  ['claim', 979],
  ['dig', 981],
  ['graveSync', 986],
  ['cryptSync', 991],
  ['distribution', 994],
  ['answer', 999],
]

/** The ecosystem begins with two mints, two moves to the treasury and three prices. */
export const FOUNDING: readonly KindName[] = [
  ...(['grave', 'crypt', 'grave', 'crypt'] as const),
  ...(['answer', 'graveSync', 'cryptSync'] as const),
]

const MINTED = 10n ** 27n
const DOLLARS_PER_ETHER = 3_000
const TOKENS_IN_POOL = 20_000_000
const ETHER_IN_POOL = 500
/** A swap moves a price by up to this share, up or down. */
const SWAP_SHARE = 0.004
/** Base units up to which amounts are drawn. */
const MOST = { usdc: 2 ** 31, weth: 2 ** 48, dig: 2 ** 53, payment: 2 ** 27 }

/** What happens on the chain: the next log's arguments, and the state behind it. */
export class ChainLife {
  readonly tokens: Readonly<Record<'grave' | 'crypt', TokenLife>>
  readonly counts = new Map<KindName, number>()
  /** Of claims by token, of digs and of payments. */
  readonly sums = { usdc: 0n, weth: 0n, dig: 0n, payment: 0n }
  readonly reserves = { grave: [0n, 0n], crypt: [0n, 0n] }
  ethUsd = DOLLARS_PER_ETHER
  /** Addresses of holders as words, and back. */
  readonly words: readonly string[]
  readonly holders: ReadonlyMap<string, number>
  readonly #random: () => number
  readonly #pools = {
    grave: { tokens: TOKENS_IN_POOL, ether: ETHER_IN_POOL },
    crypt: { tokens: TOKENS_IN_POOL, ether: ETHER_IN_POOL },
  }

  constructor({ logs, seed }: { readonly logs: number; readonly seed: number }) {
    const count = Math.max(HOLDERS_MIN, Math.floor(logs / LOGS_PER_HOLDER))
    this.words = Array.from({ length: count }, (_, index) =>
      index === TREASURY ? wordOf(at.treasury) : holderWord(seed, index),
    )
    this.holders = new Map(this.words.map((word, index) => [word, index]))
    this.#random = randomOf(seed)
    this.tokens = {
      grave: new TokenLife(count, this.#random, logs),
      crypt: new TokenLife(count, this.#random, logs),
    }
  }

  /** The feed's newest answer, with 8 decimals. */
  get answer(): bigint {
    return BigInt(Math.round(this.ethUsd * 1e8))
  }

  found(index: number, timeUnix: number): LogArguments {
    const kind = FOUNDING[index] ?? 'answer'
    const isMint = index < 2
    return this.#say(kind, timeUnix, {
      from: isMint ? 'zero' : 0,
      to: isMint ? 0 : TREASURY,
      amount: isMint ? MINTED : MINTED / 20n,
    })
  }

  next(timeUnix: number): LogArguments {
    const draw = this.#random() * 1_000
    const [kind] = UNTIL.find(([, until]) => draw < until) ?? ['payment' as const]
    return this.#say(kind, timeUnix)
  }

  noise(timeUnix: number): LogArguments {
    return this.#say('noise', timeUnix)
  }

  #say(kind: KindName, timeUnix: number, founding?: Transfer): LogArguments {
    this.counts.set(kind, (this.counts.get(kind) ?? 0) + 1)
    switch (kind) {
      case 'grave':
      case 'crypt':
        return this.#transfer(kind, timeUnix, founding)
      case 'claim': {
        const token = this.#random() < 0.6 ? 'usdc' : 'weth'
        return log(kind, [this.#holder(), wordOf(at[token])], this.#amount(token))
      }
      case 'distribution':
        return log(kind, [wordOf(at.usdc)], this.#draw(MOST.usdc))
      case 'dig':
        return log(kind, [this.#holder(), word(this.countOf(kind))], this.#amount('dig'))
      case 'graveSync':
      case 'cryptSync':
        return this.#sync(kind)
      case 'answer':
        this.ethUsd *= this.#step()
        return log(kind, [word(this.answer), word(this.countOf(kind))], timeUnix)
      case 'payment':
        return log(kind, [this.#holder(), wordOf(at.payTo)], this.#amount('payment'))
      case 'noise':
        return log(kind, [this.#holder(), this.#holder()], this.#draw(MOST.usdc))
    }
  }

  countOf(kind: KindName): number {
    return this.counts.get(kind) ?? 0
  }

  #transfer(kind: 'grave' | 'crypt', timeUnix: number, founding?: Transfer): LogArguments {
    const token = this.tokens[kind]
    const transfer = founding ?? token.draw()
    token.move(transfer, timeUnix)
    return log(kind, [this.#wordOf(transfer.from), this.#wordOf(transfer.to)], transfer.amount)
  }

  #sync(kind: 'graveSync' | 'cryptSync'): LogArguments {
    const name = kind === 'graveSync' ? 'grave' : 'crypt'
    const pool = this.#pools[name]
    const step = this.#step()
    pool.tokens *= step
    pool.ether /= step
    const [token, ether] = [toUnits(pool.tokens), toUnits(pool.ether)]
    this.reserves[name] = at[name] < at.weth ? [token, ether] : [ether, token]
    return { kind, topics: [], data: this.reserves[name].map(word).join('') }
  }

  #step(): number {
    return 1 + (this.#random() - 0.5) * 2 * SWAP_SHARE
  }

  #amount(of: keyof typeof MOST): bigint {
    const amount = this.#draw(MOST[of])
    this.sums[of] += amount
    return amount
  }

  #draw(most: number): bigint {
    return BigInt(1 + Math.floor(this.#random() * (most - 1)))
  }

  #holder(): string {
    return this.words[zipf(this.#random, this.words.length)] ?? ''
  }

  #wordOf(account: Account): string {
    return typeof account === 'number' ? (this.words[account] ?? '') : wordOf(at[account])
  }
}

function log(kind: KindName, topics: readonly string[], data: bigint | number): LogArguments {
  return { kind, topics, data: word(data) }
}

export function wordOf(address: string): string {
  return address.slice(2).padStart(64, '0')
}

function holderWord(seed: number, index: number): string {
  return hash('sha256', `${seed} holder ${index}`).slice(0, 40).padStart(64, '0')
}

function word(value: bigint | number): string {
  return value.toString(16).padStart(64, '0')
}

/** Whole tokens as base units of 18 decimals. */
function toUnits(tokens: number): bigint {
  return BigInt(Math.floor(tokens * 1e6)) * 10n ** 12n
}

export const kindNumbers = new Map(eventKinds.map(({ name }, number) => [name, number]))
