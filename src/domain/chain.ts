import type { Address, Hash } from './address.ts'

export interface BlockRef {
  readonly number: number
  readonly hash: Hash
}

export interface BlockHeader extends BlockRef {
  readonly parentHash: Hash
  readonly timestamp: number
  /** Null if the header does not hash to `hash`: an unproven bloom decides nothing. */
  readonly logsBloom: `0x${string}` | null
}

/** Hex; the address is lower-case. */
export interface Log {
  readonly chainId: number
  readonly blockNumber: number
  readonly blockHash: Hash
  readonly timestamp: number
  readonly txHash: Hash
  readonly txIndex: number
  /** Index in the block or, on some chains, in the transaction; a reorg can change it. */
  readonly logIndex: number
  readonly address: Address
  readonly topics: readonly Hash[]
  readonly data: `0x${string}`
}

/** More than fit into a block; the largest place is a safe integer. */
const PER_BLOCK_MAX = 2 ** 24

/** Orders a block's logs, including on chains that number logs per transaction. Throws RangeError. */
export function placeOf({ txIndex, logIndex }: Pick<Log, 'txIndex' | 'logIndex'>): number {
  if (txIndex >= PER_BLOCK_MAX || logIndex >= PER_BLOCK_MAX)
    throw new RangeError(`no block has a log ${logIndex} in transaction ${txIndex}`)
  return txIndex * PER_BLOCK_MAX + logIndex
}

export function logIndexAt(place: number): number {
  return place % PER_BLOCK_MAX
}

export type Finality = 'latest' | 'safe' | 'finalized'
