import type { Address, Hash } from './address.ts'

/** A block named by height and hash; the hash decides. */
export interface BlockRef {
  readonly number: number
  readonly hash: Hash
}

/** A sealed block as the indexer follows it. Timestamp in Unix seconds. */
export interface BlockHeader extends BlockRef {
  readonly parentHash: Hash
  readonly timestamp: number
  readonly logsBloom: `0x${string}`
}

/** One log of a sealed block. Topics and data are hex; the address is lower-case. */
export interface Log {
  readonly chainId: number
  readonly blockNumber: number
  readonly blockHash: Hash
  /** Unix seconds of the block. */
  readonly timestamp: number
  readonly txHash: Hash
  readonly txIndex: number
  /** Block-wide, so it changes when a reorg moves the transaction. */
  readonly logIndex: number
  readonly address: Address
  readonly topics: readonly Hash[]
  readonly data: `0x${string}`
}

/** How far a block is from being taken back. */
export type Finality = 'latest' | 'safe' | 'finalized'
