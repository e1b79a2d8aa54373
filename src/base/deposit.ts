import type { Address, Hash } from './address.ts'
import type { BlockRef } from './chain.ts'

/** A canonical `Transfer(to = payTo)` of the payment asset, never zero. */
export interface Deposit {
  readonly chainId: number
  readonly blockNumber: number
  readonly blockHash: Hash
  readonly timestampUnix: number
  readonly txHash: Hash
  readonly logIndex: number
  /** Index among the transaction's payment transfers; survives reorgs. */
  readonly positionInTx: number
  readonly from: Address
  readonly to: Address
  /** Micro-USD. */
  readonly amount: bigint
  /** Unproven deposits are never credited. */
  readonly proven: boolean
}

export interface CanonicalDeposits {
  readonly head: BlockRef & {
    readonly timestamp: number
  }
  /** First block of the file; earlier payments are not read. */
  readonly completeFromBlock: number
  /** Whether history is read up to the newest final blocks. */
  readonly isComplete: boolean
  readonly deposits: readonly Deposit[]
}
