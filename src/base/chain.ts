import type { Address, Hash } from './address.ts'

export interface BlockRef {
  readonly number: number
  readonly hash: Hash
}

export interface BlockHeader extends BlockRef {
  readonly parentHash: Hash
  readonly timestamp: number
  /** Null if the header does not hash to `hash`, because an unproven bloom decides nothing. */
  readonly logsBloom: `0x${string}` | null
}

/** Values are hex; the address is in lower case. */
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

/** No block has more transactions or logs. With `ROWS_MAX` the product stays a safe integer. */
const TRANSACTIONS_MAX = 2 ** 19
const LOGS_MAX = 2 ** 22
/** Maximum rows that a mapping module may make of one log. */
export const ROWS_MAX = 2 ** 12

/** Orders a block's rows, including on chains that number logs per transaction. Throws RangeError. */
export function toPlace({
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

/** Returns 0, except for further rows that a mapping module makes of a log. */
export function rowAt(place: number): number {
  return place % ROWS_MAX
}

export type Finality = 'latest' | 'safe' | 'finalized'
