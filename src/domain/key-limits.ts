import type { MicroUsd } from './money.ts'

/** What a key may do and spend; undefined members limit nothing. */
export interface KeyLimits {
  /** Paid calls per UTC day; free ones do not count. */
  readonly dailyPaidCalls?: number
  /** Paid calls per UTC month. */
  readonly monthlyPaidCalls?: number
  /** Paths of data endpoints. */
  readonly endpoints?: readonly string[]
  /** Values of the Origin header. */
  readonly origins?: readonly string[]
  /** IPv4 ranges, and IPv6 ranges of /64 or wider. */
  readonly addresses?: readonly string[]
  readonly expiresUnix?: number
  readonly lowBalanceMicroUsd?: MicroUsd
  /** What the keys that this one replaced had paid for when it was made. */
  readonly paidBefore?: PaidBefore
}

export interface PaidBefore {
  /** UTC, Unix seconds. */
  readonly day: number
  readonly ofDay: number
  readonly ofMonth: number
}

/** A cap that is used up. */
export interface ReachedCap {
  readonly period: 'day' | 'month'
  /** The cap. */
  readonly paidCalls: number
  readonly resetUnix: number
}
