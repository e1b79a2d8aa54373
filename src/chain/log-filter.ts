import type { Address, Hash } from '#domain/address.ts'

export interface LogFilter {
  readonly addresses: readonly Address[]
  /** `null` accepts every value at that position. */
  readonly topics: readonly (readonly Hash[] | null)[]
  readonly pairs?: readonly { readonly address: Address; readonly topic0: Hash }[]
}
