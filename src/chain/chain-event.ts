import type { BlockHeader, BlockRef, Log } from '#domain/chain.ts'

/** Where the index stands on a chain: the last block whose facts are stored. Time in Unix seconds. */
export interface Position extends BlockRef {
  readonly timestamp: number
}

/** How far the chain itself has come. */
export interface ChainTip {
  readonly head: BlockHeader
  /** Heights; never above the head. */
  readonly safe: number
  readonly finalized: number
}

/** What the chain did since a position. */
export type ChainEvent =
  /** Blocks that are final and not yet read. */
  | {
      readonly kind: 'history'
      readonly tip: ChainTip
      readonly from: number
      readonly to: number
    }
  /** New blocks, each the child of the one before. */
  | {
      readonly kind: 'blocks'
      readonly tip: ChainTip
      readonly blocks: readonly { readonly header: BlockHeader; readonly logs: readonly Log[] }[]
    }
  /** The blocks above the ancestor are no longer part of the chain. */
  | { readonly kind: 'reorg'; readonly tip: ChainTip; readonly ancestor: BlockHeader }
  | { readonly kind: 'idle'; readonly tip: ChainTip }
  /** The node is behind the position: a lagging node, or a chain that became shorter. */
  | { readonly kind: 'behind'; readonly tip: ChainTip; readonly forked: boolean }
