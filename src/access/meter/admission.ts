import type { Caller, UsageFigures } from '#domain/caller.ts'
import type { MicroUsd } from '#domain/money.ts'

/** The meter's decision on a call; durable before it is returned. */
export type Admission =
  | {
      readonly kind: 'admitted'
      /** A free unit or the prepaid balance. */
      readonly source: 'quota' | 'prepaid'
      /** Refunds the unit or the money, once. */
      readonly receipt: AdmissionReceipt
      readonly figures: UsageFigures
    }
  | { readonly kind: 'exhausted'; readonly figures: UsageFigures }

/** What was taken, for an exact refund. */
export interface AdmissionReceipt {
  /** Unique for ever; refunded at most once. */
  readonly id: string
  readonly bucket: string
  /** Unix seconds of the charged UTC day. */
  readonly day: number
  readonly source: 'quota' | 'prepaid'
  /** The debited prepaid account. */
  readonly account: string | null
  /** The key whose free calls are counted apart from its wallet's. */
  readonly countedKey: string | null
}

export interface MeterFigures extends UsageFigures {
  readonly prepaidBalance: MicroUsd
}

/** Throws MeteringUnavailable when the store cannot answer. */
export interface Meter {
  /** A free unit, else the price from the balance, else exhausted. */
  admit(caller: Caller): Promise<Admission>
  /**
   * Refunds after a 5xx. Rejects when the store did not do it at once; it is then journalled and
   * retried until done.
   */
  refund(receipt: AdmissionReceipt): Promise<void>
  /** Charges nothing. */
  figures(caller: Caller): Promise<MeterFigures>
}

/** A meter that can also refund calls admitted in another module's transaction. */
export interface SettlingMeter extends Meter {
  /**
   * For a credit whose commit reported an error: refunds the call if it was committed after all.
   * Resolves once the check is journalled; `name` is that of `admitCredited`.
   */
  refundIfAdmitted(name: string, receipt: AdmissionReceipt): Promise<void>
}

/** The accounts store is down: answer 503, never 402, 429 or a free pass. */
export class MeteringUnavailable extends Error {
  override readonly name = 'MeteringUnavailable'
}
