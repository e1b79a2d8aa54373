import type { Address, Hash } from '#domain/address.ts'

/** What `eth_getLogs` is asked for: any of the addresses, and per topic position any of the values. */
export interface LogFilter {
  readonly addresses: readonly Address[]
  /** `null` accepts every value at that position. */
  readonly topics: readonly (readonly Hash[] | null)[]
  /** Which event of which contract is meant, where the lists alone would mean more. */
  readonly pairs?: readonly { readonly address: Address; readonly topic0: Hash }[]
}
