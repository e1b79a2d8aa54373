import type { ChainName } from '#devnet/addresses.ts'

/** A chain up to one block. */
export interface ChainAt {
  readonly name: ChainName
  readonly id: number
  readonly rpcUrl: string
  readonly blockNumber: number
}
