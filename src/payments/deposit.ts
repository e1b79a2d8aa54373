import type { Address, Hash } from '#domain/address.ts'
import type { BlockRef } from '#domain/chain.ts'

/** One canonical `Transfer(to = payTo)` log of the payment asset; zero-value logs never appear. */
export interface Deposit {
  readonly chainId: number
  readonly blockNumber: number
  readonly blockHash: Hash
  /** Unix seconds of the block. */
  readonly timestampUnix: number
  readonly txHash: Hash
  /** Block-wide, so it changes when a reorg moves the transaction. */
  readonly logIndex: number
  /** Index of the log among the payment transfers of its transaction: the same in every block. */
  readonly positionInTx: number
  readonly from: Address
  readonly to: Address
  /** Base units of the asset: micro-USD. */
  readonly amount: bigint
  /** Whether its block was proven to contain it; unproven deposits are never credited. */
  readonly proven: boolean
}

/** Which deposits are asked for: from a block on, those of some transactions, or a page in order. */
export type DepositQuery =
  | { readonly sinceBlock: number }
  | { readonly txHashes: readonly Hash[] }
  | {
      /** The last deposit of the page before. */
      readonly after: { readonly blockNumber: number; readonly logIndex: number }
      readonly limit: number
    }

/** The index's word on deposits, all of one state. */
export interface CanonicalDeposits {
  /** The newest block that the index holds on the payment chain. */
  readonly head: BlockRef & {
    /** Unix seconds of the block. */
    readonly timestamp: number
  }
  /** Deposits are complete from this block to the head; below, history is still being read. */
  readonly completeFromBlock: number
  /** Whether deposits are complete from the file's first block on. */
  readonly isComplete: boolean
  readonly deposits: readonly Deposit[]
}

/** Reads deposits of the payment chain from our own index; undefined while it is unavailable. */
export interface DepositIndex {
  canonical(query: DepositQuery): Promise<CanonicalDeposits | undefined>
}

/**
 * The hash of the payment chain's canonical block at a height; undefined while unknown. Only a different
 * hash proves that a block has left the chain; a missing log does not.
 */
export type BlockHashAt = (blockNumber: number) => Promise<Hash | undefined>
