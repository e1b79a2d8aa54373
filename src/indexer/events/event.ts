import type { Address } from '#domain/address.ts'
import type { Log } from '#domain/chain.ts'
import type { MicroUsd } from '#domain/money.ts'

/** Something that happened once and has an amount of a token. */
export interface EventFact {
  readonly log: Pick<
    Log,
    'chainId' | 'blockNumber' | 'blockHash' | 'txHash' | 'logIndex' | 'timestamp'
  >
  /** The dataset's own word, such as `burn` or `claim`. */
  readonly kind: string
  /** Symbol. */
  readonly token: string
  /** Who burned, claimed or dug; null where nobody in particular did. */
  readonly account: Address | null
  /** Base units. */
  readonly amount: bigint
  readonly detail: string | null
  /** Whether it counts into totals; a distribution is shown but is no payout. */
  readonly counted: boolean
}

/** What a bucket or an account gains, or loses when an event is taken back. */
export interface Sums {
  readonly amount: bigint
  readonly usd: MicroUsd
  readonly events: number
  /** Events that have a dollar value. */
  readonly priced: number
}

/** The bucket of everything since the beginning. */
export const TOTAL = 0

export const NOTHING: Sums = { amount: 0n, usd: 0n, events: 0, priced: 0 }

export function addSums(a: Sums, b: Sums): Sums {
  return {
    amount: a.amount + b.amount,
    usd: a.usd + b.usd,
    events: a.events + b.events,
    priced: a.priced + b.priced,
  }
}

/** What is left without some of it. */
export function takeSums(sums: Sums, some: Sums): Sums {
  return addSums(sums, negated(some))
}

export function negated(sums: Sums): Sums {
  return {
    amount: -sums.amount,
    usd: -sums.usd,
    events: -sums.events,
    priced: -sums.priced,
  }
}

/** One event's share in the sums it belongs to. */
export interface Contribution {
  readonly chainId: number
  readonly token: string
  readonly account: Address | null
  /** Unix seconds of the event. */
  readonly timestamp: number
  readonly sums: Sums
}
