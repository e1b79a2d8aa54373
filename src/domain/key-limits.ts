import type { MicroUsd } from './money.ts'

/** Undefined members limit nothing. */
export interface KeyLimits {
  /** The cap per UTC day; free calls do not count. */
  readonly dailyPaidCalls?: number
  readonly monthlyPaidCalls?: number
  /** Paths of data endpoints. */
  readonly endpoints?: readonly string[]
  /** Values of the Origin header. */
  readonly origins?: readonly string[]
  /** IPv4 ranges, and IPv6 ranges of /64 or wider. */
  readonly addresses?: readonly string[]
  readonly expiresUnix?: number
  readonly lowBalanceMicroUsd?: MicroUsd
  /** What the keys that it replaced had paid. */
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
