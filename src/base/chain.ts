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

/** More transactions and logs than fit into a block. With the rows of a log, a place is a safe integer. */
const TRANSACTIONS_MAX = 2 ** 19
const LOGS_MAX = 2 ** 22
/** Rows that the code of a mapping may make of one log. */
export const ROWS_MAX = 2 ** 12

/** Orders a block's rows, including on chains that number logs per transaction. Throws RangeError. */
export function placeOf({
  txIndex,
  logIndex,
  row = 0,
}: Pick<Log, 'txIndex' | 'logIndex'> & { readonly row?: number }): number {
  if (txIndex >= TRANSACTIONS_MAX || logIndex >= LOGS_MAX || row >= ROWS_MAX)
    throw new RangeError(`no block has row ${row} of log ${logIndex} in transaction ${txIndex}`)
  return (txIndex * LOGS_MAX + logIndex) * ROWS_MAX + row
}

export function logIndexAt(place: number): number {
  return Math.floor(place / ROWS_MAX) % LOGS_MAX
}

/** 0 for all but the further rows that a mapping with code makes of a log. */
export function rowAt(place: number): number {
  return place % ROWS_MAX
}

export type Finality = 'latest' | 'safe' | 'finalized'
