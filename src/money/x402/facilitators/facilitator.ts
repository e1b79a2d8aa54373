import type { FacilitatorClient } from '@x402/core/server'
import type { Address } from '#domain/address.ts'

/** Verifies and settles payments: in this process, or as a service of someone else. */
export interface Facilitator {
  /** The library's interface. What it says is a hint; the chain decides. */
  readonly client: Pick<FacilitatorClient, 'verify' | 'settle'>
  /** The address of our own wallet, which pays the gas. */
  readonly wallet: Address | undefined
  /** Whether it could settle a payment of the smallest offer now. */
  isReady(): Promise<boolean>
}
