import type { Caller, RateLimitState } from '#domain/caller.ts'
import type { ReachedCap } from '#domain/key-limits.ts'
import type { MicroUsd } from '#domain/money.ts'
import type { BatchId } from './meter-statements.ts'

/** Durable before it is returned. */
export type Admission =
  | {
      readonly kind: 'admitted'
      readonly source: 'quota' | 'prepaid'
      readonly charge: Charge
      readonly rateLimit: RateLimitState
      /** The balance is below the threshold that the key's owner set. */
      readonly isBalanceLow?: true
    }
  | { readonly kind: 'exhausted'; readonly rateLimit: RateLimitState }
  | { readonly kind: 'limited'; readonly cap: ReachedCap; readonly rateLimit: RateLimitState }

/** What one call was charged; undone if its answer was not sent. */
export interface Charge {
  readonly id: string
  readonly bucket: string
  /** Charged UTC day (Unix seconds). */
  readonly day: number
  readonly source: 'quota' | 'prepaid'
  readonly account: string | null
  readonly countedKey: string | null
}

export interface MeterState extends RateLimitState {
  readonly prepaidBalance: MicroUsd
  /** What `admit` would answer now, if not admitted. */
  readonly refused?: Refused
}

export type Refused =
  | { readonly kind: 'exhausted' }
  | { readonly kind: 'limited'; readonly cap: ReachedCap }

/** Throws MeteringUnavailable. */
export interface Meter {
  /**
   * Takes a free unit, else the price from the balance, else finds the caller exhausted. Nothing of a call may fail after it.
   * Throws ConnectionCut if `isCut` when the call would join a batch.
   */
  admit(caller: Caller, isCut?: () => boolean): Promise<Admission>
  /** Charges nothing. */
  rateLimit(caller: Caller): Promise<MeterState>
  /** Whether the caller's last call was refused, without asking the store. */
  wasRefused(caller: Caller): boolean
}

/** A transaction that charged calls, and whose commit reported an error. */
export interface UnknownCommit {
  readonly id: BatchId
  /** Charged UTC day (Unix seconds). */
  readonly day: number
  /** The calls whose answers were not sent. */
  readonly charges: readonly Charge[]
  /** It is committed, but did not reach the disk. */
  readonly stands: boolean
}

export interface SettlingMeter extends Meter {
  waiting(): number
  /** Undoes its charges, from memory, if it was committed after all. */
  undoIfCommitted(commit: UnknownCommit): void
}

/** Answer 503, never 402, 429 or a free pass. */
export class MeteringUnavailable extends Error {
  override readonly name = 'MeteringUnavailable'
}

/** The client left, so that its call is not charged. */
export class ConnectionCut extends Error {
  override readonly name = 'ConnectionCut'
}
