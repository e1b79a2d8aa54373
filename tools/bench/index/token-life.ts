/** Holder 0 has everything at first; holder 1 is what the ecosystem file calls the treasury. */
export const TREASURY = 1

/** One transfer of a thousand is a burn to the zero address, ten more go to the dead address. */
const BURNS_TO_ZERO = 0.001
const BURNS_TO_DEAD = 0.01
/** Burns are small beside other transfers. */
const BURN_SHARE = 0.01
/** So many senders send everything they have. */
const EVERYTHING = 0.05

export type Account = number | 'zero' | 'dead'

export interface Transfer {
  readonly from: Account
  readonly to: Account
  readonly amount: bigint
}

interface Burn {
  readonly timeUnix: number
  readonly amount: bigint
}

/** One token: who holds how much, and what was burned when. */
export class TokenLife {
  readonly burns: Burn[] = []
  readonly balances: bigint[]
  dead = 0n
  supply = 0n
  readonly #random: () => number
  readonly #logs: number

  constructor(holders: number, random: () => number, logs: number) {
    this.balances = new Array<bigint>(holders).fill(0n)
    this.#random = random
    this.#logs = logs
  }

  /** Draws who sends how much to whom. Holder 0 stands in for those who have nothing yet. */
  draw(): Transfer {
    const chance = this.#random()
    const isBurn = chance < BURNS_TO_ZERO + BURNS_TO_DEAD
    const drawn = zipf(this.#random, this.balances.length)
    const amount = this.#share(drawn, isBurn)
    const receiver = isBurn ? 'dead' : zipf(this.#random, this.balances.length)
    const to = chance < BURNS_TO_ZERO ? 'zero' : receiver
    if (amount > 0n) return { from: drawn, to, amount }
    return { from: 0, to, amount: this.#share(0, isBurn) }
  }

  move({ from, to, amount }: Transfer, timeUnix: number): void {
    if (from === 'zero') this.supply += amount
    else this.#add(from, -amount)
    if (to === 'zero') this.supply -= amount
    else this.#add(to, amount)
    if (to === 'zero' || to === 'dead') this.burns.push({ timeUnix, amount })
  }

  /** Each time only a little of holder 0's. */
  #share(from: number, isBurn: boolean): bigint {
    const held = this.balances[from] ?? 0n
    const draw = this.#random()
    if (from === 0) return part(held, draw / this.#logs)
    if (!isBurn && from > TREASURY && this.#random() < EVERYTHING) return held
    return part(held, draw * draw * (isBurn ? BURN_SHARE : 0.5))
  }

  #add(account: number | 'dead', amount: bigint): void {
    if (account === 'dead') this.dead += amount
    else this.balances[account] = (this.balances[account] ?? 0n) + amount
  }
}

function part(amount: bigint, share: number): bigint {
  return (amount * BigInt(Math.floor(share * 2 ** 52))) >> 52n
}

/** A rank below `count`; rank r comes about 1/(r + 1) as often as rank 0 (Zipf's law). */
export function zipf(random: () => number, count: number): number {
  return Math.min(count, Math.floor(Math.exp(random() * Math.log(count + 1)))) - 1
}
