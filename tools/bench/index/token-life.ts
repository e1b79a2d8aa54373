import { type AccountTable, TREASURY_INDEX } from './account-table.ts'
import type { RandomWords } from './random-words.ts'
import { fromWide, type Wide, WideBalances } from './wide-balances.ts'

/** One transfer of a thousand is a burn to the zero address, ten more go to the dead address. */
const BURNS_TO_ZERO = 0.001
const BURNS_TO_DEAD = 0.01
/** Burns are small beside other transfers. */
const BURN_SHARE = 0.01
/** So many senders send everything they have. */
const EVERYTHING = 0.05

/** A burn as the register sums it up. */
export interface BurnFact {
  readonly timeUnix: number
  readonly amount: bigint
}

export interface Transfer extends Ends {
  readonly amount: Wide
  readonly timeUnix: number
}

export interface Ends {
  readonly from: number
  readonly to: number
}

/** One token: who holds how much, and what was burned when. */
export class TokenLife {
  readonly burns: BurnFact[] = []
  minted = 0n
  burnedToZero = 0n
  readonly #balances: WideBalances
  readonly #accounts: AccountTable
  readonly #random: RandomWords
  readonly #logs: number

  constructor(accounts: AccountTable, random: RandomWords, logs: number) {
    this.#accounts = accounts
    this.#random = random
    this.#logs = logs
    this.#balances = new WideBalances(accounts.owners)
  }

  balanceOf(index: number): bigint {
    return index < this.#accounts.owners ? this.#balances.of(index) : 0n
  }

  /** Accounts that hold something; the treasury and the burn addresses are none. */
  countHolders(): number {
    let holders = 0
    for (let index = 0; index < this.#accounts.holders; index += 1)
      if (index !== TREASURY_INDEX && this.#balances.holds(index)) holders += 1
    return holders
  }

  /** Draws who sends how much to whom; the amount goes to `amount`. */
  draw(amount: Wide): Ends {
    const drawn = this.#random.zipf(this.#accounts.holders)
    const chance = this.#random.unit()
    const isBurn = chance < BURNS_TO_ZERO + BURNS_TO_DEAD
    let from = this.#balances.holds(drawn) ? drawn : 0
    this.#drawAmount(amount, from, isBurn)
    if (amount.high === 0 && amount.low === 0) {
      from = 0
      this.#drawAmount(amount, from, isBurn)
    }
    return { from, to: this.#receiver(chance) }
  }

  move({ from, to, amount, timeUnix }: Transfer): void {
    const { zero, dead } = this.#accounts
    if (from === zero) this.minted += fromWide(amount)
    else this.#balances.subtract(from, amount)
    if (to === zero) this.burnedToZero += fromWide(amount)
    else this.#balances.add(to, amount)
    if (to === zero || to === dead) this.burns.push({ timeUnix, amount: fromWide(amount) })
  }

  /** The first holder serves those who have nothing yet, so each time only with a little. */
  #drawAmount(amount: Wide, from: number, isBurn: boolean): void {
    const draw = this.#random.unit()
    const isAll = !isBurn && from > TREASURY_INDEX && this.#random.unit() < EVERYTHING
    const part = from === 0 ? draw / this.#logs : draw * draw * (isBurn ? BURN_SHARE : 0.5)
    this.#balances.share(amount, from, { share: isAll ? 1 : part, low: this.#random.word48() })
  }

  #receiver(chance: number): number {
    if (chance < BURNS_TO_ZERO) return this.#accounts.zero
    if (chance < BURNS_TO_ZERO + BURNS_TO_DEAD) return this.#accounts.dead
    return this.#random.zipf(this.#accounts.holders)
  }
}
