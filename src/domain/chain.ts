import type { Address, Hash } from './address.ts'

export interface BlockRef {
  readonly number: number
  readonly hash: Hash
}

export interface BlockHeader extends BlockRef {
  readonly parentHash: Hash
  readonly timestamp: number
  readonly logsBloom: `0x${string}`
}

/** Hex; the address is lower-case. */
export interface Log {
  readonly chainId: number
  readonly blockNumber: number
  readonly blockHash: Hash
  readonly timestamp: number
  readonly txHash: Hash
  readonly txIndex: number
  /** Index in the block; a reorg can change it. */
  readonly logIndex: number
  readonly address: Address
  readonly topics: readonly Hash[]
  readonly data: `0x${string}`
}

export type Finality = 'latest' | 'safe' | 'finalized'
