import type { Address, Hash } from '#base/address.ts'
import type { BlockHeader, BlockRef, Log } from '#base/chain.ts'

export type SourceLog = Omit<Log, 'timestamp'> & { readonly timestamp: number | null }

export interface ProvenBlock {
  readonly header: BlockHeader
  readonly logs: readonly Log[]
}

export type BlockTag = 'latest' | 'safe' | 'finalized'

/** Both ends included. */
export interface HistoryRequest {
  readonly filter: LogFilter
  readonly from: number
  readonly to: number
  readonly signal?: AbortSignal
}

export interface HistoryPart {
  readonly from: number
  readonly to: number
  /** Those that `pairs` of the filter name, in chain order. */
  readonly logs: readonly SourceLog[]
  readonly bytes: number
  /** The end as the answering node sees it, possibly on another branch. */
  readonly end: BlockRef
  readonly host: string
}

export type EndpointState =
  | 'ok'
  | 'probing'
  | 'lagging'
  | 'pruned'
  | 'lying'
  | 'failing'
  | 'wrong-chain'

export interface EndpointStatus {
  readonly host: string
  readonly state: EndpointState
  readonly reason: string | null
  readonly preferred: boolean
  readonly requests: number
  readonly refused: number
  readonly failed: number
  readonly inFlight: number
  readonly rangeMax: number | null
}

/** Responses are parsed; an impossible one throws RpcError. */
export interface ChainSource {
  readonly chainId: number
  askChainId(): Promise<number>
  /** Undefined if unknown to the node. */
  header(block: number | BlockTag): Promise<BlockHeader | undefined>
  /** Returns logs in chain order, both ends included. */
  logsInRange(filter: LogFilter, from: number, to: number): Promise<readonly SourceLog[]>
  /** Throws if unknown to the node. */
  logsInBlock(filter: LogFilter, hash: Hash): Promise<readonly SourceLog[]>
  /** Undefined without that method. */
  receiptLogs(hash: Hash): Promise<readonly SourceLog[] | undefined>
  /**
   * Throws EndpointError `unproven`. If `wants` rejects the proven header, the logs are left empty.
   */
  provenBlock(ref: BlockRef, wants?: (header: BlockHeader) => boolean): Promise<ProvenBlock>
  code(address: Address, block?: number): Promise<`0x${string}`>
  call(to: Address, data: `0x${string}`, block?: number): Promise<`0x${string}`>
  /** Yields parts in block order without gaps; splits refused ranges. Leaving the iteration cancels requests. */
  history(request: HistoryRequest): AsyncIterable<HistoryPart>
  distrust(host: string, reason: string): void
  endpoints(): readonly EndpointStatus[]
}

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

export interface LogFilter {
  /** `null`: any contract. */
  readonly addresses: readonly Address[] | null
  /** `null` accepts every value. */
  readonly topics: readonly (readonly Hash[] | null)[]
  /** Which event of which contract; the lists alone match more. */
  readonly pairs?: readonly { readonly address: Address; readonly topic0: Hash }[]
}
