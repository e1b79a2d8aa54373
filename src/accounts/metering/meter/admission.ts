import type { Caller, RateLimitState } from '#domain/caller.ts'
import type { ReachedCap } from '#domain/key-limits.ts'
import type { MicroUsd } from '#domain/money.ts'

export type Refused =
  | { readonly kind: 'exhausted' }
  | { readonly kind: 'limited'; readonly cap: ReachedCap }

/** Durable before it is returned; the figures are those of the call's own moment. */
export type Admission = (
  | { readonly kind: 'admitted'; readonly source: 'quota' | 'prepaid' }
  | Refused
) & { readonly rateLimit: RateLimitState }

export interface MeterState extends RateLimitState {
  readonly prepaidBalance: MicroUsd
  /** What `admit` would answer now, if not admitted. */
  readonly refused?: Refused
}

/** Throws MeteringUnavailable. */
export interface Meter {
  /**
   * Takes a free unit, else the price from the balance, else refuses. Nothing of a call may fail after it.
   * Throws ConnectionCut if `isCut` when the call would join a batch.
   */
  admit(caller: Caller, isCut?: () => boolean): Promise<Admission>
  /** Charges nothing. */
  rateLimit(caller: Caller): Promise<MeterState>
  /** Whether the caller's last call was refused, without asking the store. */
  wasRefused(caller: Caller): boolean
  /** Calls that wait for a decision or for the disk. */
  waiting(): number
}

/** Answer 503, never 402, 429 or a free pass. */
export class MeteringUnavailable extends Error {
  override readonly name = 'MeteringUnavailable'
}

/** The client left, so that its call is not charged. */
export class ConnectionCut extends Error {
  override readonly name = 'ConnectionCut'
}
