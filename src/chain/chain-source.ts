import type { Address, Hash } from '#domain/address.ts'
import type { BlockHeader, BlockRef, Log } from '#domain/chain.ts'
import type { LogColumns } from './columns/log-columns.ts'
import type { LogFilter } from './log-filter.ts'

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
  readonly atOnceMax?: number
  readonly signal?: AbortSignal
  /** Called, perhaps repeatedly, when every range has been requested. */
  onAllAsked?(): void
}

export interface HistoryPart {
  readonly from: number
  readonly to: number
  /** Reused once the next part is requested. */
  readonly columns: LogColumns
  /** The last block as the answering node sees it, because it may be on another branch. */
  readonly end: BlockRef | undefined
  readonly host: string
}

export type EndpointState =
  | 'ok'
  | 'probing'
  | 'lagging'
  | 'forked'
  | 'pruned'
  | 'lying'
  | 'failing'
  | 'wrong-chain'

export interface EndpointStatus {
  readonly host: string
  readonly state: EndpointState
  readonly reason: string | null
  readonly preferred: boolean
  readonly headNumber: number | null
  readonly requests: number
  readonly refused: number
  readonly failed: number
  /** On the wire. */
  readonly bytesReceived: number
  readonly inFlight: number
  readonly limit: number
  readonly p95Ms: number | null
  readonly rangeMax: number | null
}

/** Every response is parsed; an impossible one throws RpcError. */
export interface ChainSource {
  readonly chainId: number
  askChainId(): Promise<number>
  /** Undefined if the node does not know the block. */
  header(block: number | BlockTag): Promise<BlockHeader | undefined>
  /** By block and log index, both ends included. */
  logsInRange(filter: LogFilter, from: number, to: number): Promise<readonly SourceLog[]>
  /** Throws if the node does not know the hash. */
  logsInBlock(filter: LogFilter, hash: Hash): Promise<readonly SourceLog[]>
  /** Undefined if the node lacks the method. */
  receiptLogs(hash: Hash): Promise<readonly SourceLog[] | undefined>
  /**
   * Throws EndpointError `unproven` if no node can prove the logs. If `wants` rejects the proven
   * header, they are left empty.
   */
  provenBlock(ref: BlockRef, wants?: (header: BlockHeader) => boolean): Promise<ProvenBlock>
  /** Runs `work` on a single endpoint for consistency; restarts on the next if it fails. */
  onOneEndpoint<T>(work: (source: ChainSource) => Promise<T>): Promise<T>
  code(address: Address): Promise<`0x${string}`>
  call(to: Address, data: `0x${string}`, block?: number): Promise<`0x${string}`>
  expectHistory(): void
  /**
   * In block order without gaps; refused ranges are split. Leaving the iteration cancels requests.
   */
  history(request: HistoryRequest): AsyncIterable<HistoryPart>
  lacksHistory(host: string, reason: string): void
  distrust(host: string, reason: string): void
  endpoints(): readonly EndpointStatus[]
  each(): readonly { readonly host: string; readonly source: ChainSource }[]
}
