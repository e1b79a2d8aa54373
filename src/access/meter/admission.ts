import type { Caller, UsageFigures } from '#domain/caller.ts'
import type { MicroUsd } from '#domain/money.ts'

/** The meter's word on one metered call. It is durable before anyone sees it. */
export type Admission =
  | {
      readonly kind: 'admitted'
      /** What paid: a free unit of the day, or the prepaid balance. */
      readonly source: 'quota' | 'prepaid'
      /** Gives the unit or the money back, once. */
      readonly receipt: AdmissionReceipt
      readonly figures: UsageFigures
    }
  | { readonly kind: 'exhausted'; readonly figures: UsageFigures }

/** Names what was taken, so that exactly that can be given back. */
export interface AdmissionReceipt {
  /** Unique for ever: a receipt is given back once, however often that is tried. */
  readonly id: string
  readonly bucket: string
  /** Unix seconds of the UTC day that was charged. */
  readonly day: number
  readonly source: 'quota' | 'prepaid'
  /** The prepaid account that was debited. */
  readonly account: string | null
  /** The key whose free calls are counted apart from its wallet's. */
  readonly countedKey: string | null
}

export interface MeterFigures extends UsageFigures {
  readonly prepaidBalance: MicroUsd
}

/** Counts calls. Throws MeteringUnavailable when the store cannot answer. */
export interface Meter {
  /** A free unit if one is left, else the price of a call from the balance, else exhausted. */
  admit(caller: Caller): Promise<Admission>
  /**
   * Takes an admission back because the work failed (5xx). Rejects when the store did not do it at
   * once; it is then journalled, and tried again until it is known to be done.
   */
  refund(receipt: AdmissionReceipt): Promise<void>
  /** The figures as they stand, nothing charged. */
  figures(caller: Caller): Promise<MeterFigures>
}

/** A meter that can also refund calls admitted in another module's transaction. */
export interface SettlingMeter extends Meter {
  /**
   * Refunds a call if its transaction turns out to be committed although the commit reported an error.
   * Resolves once that check is journalled; `name` is the one passed to `admitCredited`.
   */
  refundIfAdmitted(name: string, receipt: AdmissionReceipt): Promise<void>
}

/** The accounts store is down: data calls answer 503, never 402, 429 or a free pass. */
export class MeteringUnavailable extends Error {
  override readonly name = 'MeteringUnavailable'
}
