import type { Caller, UsageFigures } from '#domain/caller.ts'
import type { ReachedCap } from '#domain/key-limits.ts'
import type { MicroUsd } from '#domain/money.ts'

/** Durable before it is returned. */
export type Admission =
  | {
      readonly kind: 'admitted'
      readonly source: 'quota' | 'prepaid'
      readonly receipt: AdmissionReceipt
      readonly figures: UsageFigures
      /** Below what the owner of the key set. */
      readonly isBalanceLow?: true
    }
  | { readonly kind: 'exhausted'; readonly figures: UsageFigures }
  | { readonly kind: 'limited'; readonly cap: ReachedCap; readonly figures: UsageFigures }

export interface AdmissionReceipt {
  /** Refunded at most once. */
  readonly id: string
  readonly bucket: string
  /** Charged UTC day (Unix seconds). */
  readonly day: number
  readonly source: 'quota' | 'prepaid'
  readonly account: string | null
  readonly countedKey: string | null
}

export interface MeterFigures extends UsageFigures {
  readonly prepaidBalance: MicroUsd
}

/** Throws MeteringUnavailable. */
export interface Meter {
  /** A free unit, else the price from the balance, else exhausted. */
  admit(caller: Caller): Promise<Admission>
  /** After a 5xx. Rejects if not done at once; it is then journalled and retried. */
  refund(receipt: AdmissionReceipt): Promise<void>
  /** Charges nothing. */
  figures(caller: Caller): Promise<MeterFigures>
}

export interface SettlingMeter extends Meter {
  waiting(): number
  /**
   * For a credit whose commit reported an error: refunds the call if it was committed. Resolves
   * once journalled; `name` as for `admitCredited`.
   */
  refundIfAdmitted(name: string, receipt: AdmissionReceipt): Promise<void>
}

/** Answer 503, never 402, 429 or a free pass. */
export class MeteringUnavailable extends Error {
  override readonly name = 'MeteringUnavailable'
}
