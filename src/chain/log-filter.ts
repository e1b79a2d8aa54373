import type { Address, Hash } from '#base/address.ts'

export interface LogFilter {
  /** `null`: any contract. */
  readonly addresses: readonly Address[] | null
  /** `null` accepts every value. */
  readonly topics: readonly (readonly Hash[] | null)[]
  /** Which event of which contract; the lists alone match more. */
  readonly pairs?: readonly { readonly address: Address; readonly topic0: Hash }[]
}
