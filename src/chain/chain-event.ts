import type { BlockHeader, BlockRef, Log } from '#base/chain.ts'

/** The last block whose facts are stored. */
export interface Position extends BlockRef {
  readonly timestamp: number
}

export interface ChainTip {
  readonly head: BlockHeader
  readonly safe: number
  readonly finalized: number
}

export type ChainEvent =
  | {
      readonly kind: 'history'
      readonly tip: ChainTip
      readonly from: number
      readonly to: number
    }
  | {
      readonly kind: 'blocks'
      readonly tip: ChainTip
      readonly blocks: readonly { readonly header: BlockHeader; readonly logs: readonly Log[] }[]
    }
  | { readonly kind: 'reorg'; readonly tip: ChainTip; readonly ancestor: BlockHeader }
  | { readonly kind: 'idle'; readonly tip: ChainTip }
  /** The node lags, or the chain got shorter. */
  | { readonly kind: 'behind'; readonly tip: ChainTip; readonly forked: boolean }
