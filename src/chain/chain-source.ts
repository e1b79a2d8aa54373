import type { Address, Hash } from '#domain/address.ts'
import type { BlockHeader, BlockRef, Log } from '#domain/chain.ts'
import type { LogColumns } from './columns/log-columns.ts'
import type { LogFilter } from './log-filter.ts'

/** A log as a node gives it: the time of its block is known only where the node sends it. */
export type SourceLog = Omit<Log, 'timestamp'> & { readonly timestamp: number | null }

/** A block whose hash commits to exactly these logs. */
export interface ProvenBlock {
  readonly header: BlockHeader
  readonly logs: readonly Log[]
}

export type BlockTag = 'latest' | 'safe' | 'finalized'

/** Final history that is to be read in ranges. */
export interface HistoryRequest {
  /** With `pairs`: logs of no pair are left out. */
  readonly filter: LogFilter
  readonly from: number
  /** Included, as `from` is. */
  readonly to: number
  /** Requests under way at most; as many as an endpoint takes unless it is given. */
  readonly atOnceMax?: number
  readonly signal?: AbortSignal
  /** Called, perhaps again and again, when nothing of it is left to be asked for: what follows may be begun. */
  onAllAsked?(): void
}

/** One answer of a history; both ends included. */
export interface HistoryPart {
  readonly from: number
  readonly to: number
  /** Their memory may be written over once the part after this one is asked for. */
  readonly columns: LogColumns
  /**
   * The last block that was asked for as the node that answered knows it: to be held against the chain,
   * for the node may be on another branch. Undefined where the endpoint could not be asked.
   */
  readonly end: BlockRef | undefined
  /** The endpoint that gave it. */
  readonly host: string
}

export type EndpointState =
  | 'ok'
  /** Not yet known, or to be known again after it was set aside. */
  | 'probing'
  | 'lagging'
  | 'forked'
  /** Lacks old history; it is still asked about the head. */
  | 'pruned'
  | 'lying'
  | 'failing'
  | 'wrong-chain'

/** How one endpoint does, for logs, metrics and readiness. Counts are since the start. */
export interface EndpointStatus {
  readonly host: string
  readonly state: EndpointState
  /** Why it is not ok, in words. */
  readonly reason: string | null
  readonly preferred: boolean
  /** The newest block that it is known to know. */
  readonly headNumber: number | null
  /** HTTP requests; a batch is one. */
  readonly requests: number
  /** Refused for their pace or their size. */
  readonly refused: number
  readonly failed: number
  /** Asked a second time because the first was slow. */
  readonly hedged: number
  /** As they came over the line, compressed or not. */
  readonly bytesReceived: number
  readonly inFlight: number
  /** How many requests may be in flight at present. */
  readonly limit: number
  /** Of the last requests. */
  readonly p95Ms: number | null
  /** The most blocks per `eth_getLogs` that it says it allows. */
  readonly rangeMax: number | null
}

/** One chain behind one or several JSON-RPC endpoints. Every answer is parsed; a lie throws RpcError. */
export interface ChainSource {
  readonly chainId: number
  /** `eth_chainId`: the chain that the node says it is of. */
  askChainId(): Promise<number>
  /** `undefined` when the node does not know the block (yet, or any more). */
  header(block: number | BlockTag): Promise<BlockHeader | undefined>
  /** Logs of finished history, both ends included, by block and log index. */
  logsInRange(filter: LogFilter, from: number, to: number): Promise<readonly SourceLog[]>
  /** Logs of exactly one block; throws when the node does not know the hash. */
  logsInBlock(filter: LogFilter, hash: Hash): Promise<readonly SourceLog[]>
  /** Every log of a block out of its receipts, by hash; undefined where the node has no such method. */
  receiptLogs(hash: Hash): Promise<readonly SourceLog[] | undefined>
  /**
   * Every log of a block, proven against the block's hash. Throws EndpointError `unproven` if no node's
   * answer hashes to it. Where `wants` rejects the proven header, the block comes without logs.
   */
  provenBlock(ref: BlockRef, wants?: (header: BlockHeader) => boolean): Promise<ProvenBlock>
  /**
   * Does several things on one and the same endpoint, so that one answer vouches for another. The
   * next endpoint is tried from the beginning, unless the first only wants less at a time.
   */
  onOneEndpoint<T>(work: (source: ChainSource) => Promise<T>): Promise<T>
  /** `eth_getCode`: `0x` where there is no contract. */
  code(address: Address): Promise<`0x${string}`>
  /** `eth_call` at a block. */
  call(to: Address, data: `0x${string}`, block?: number): Promise<`0x${string}`>
  /** Says that history will be read soon: what that needs is started, and learnt of the endpoint in use. */
  expectHistory(): void
  /**
   * `eth_getLogs` over final history in block order without gaps: ranges sized by bytes, several in
   * flight, refusals split. Leaving the iteration early ends the requests under way.
   */
  history(request: HistoryRequest): AsyncIterable<HistoryPart>
  /** An endpoint is proven to lack old history; it is left aside for that, and named with the reason. */
  lacksHistory(host: string, reason: string): void
  /** What an endpoint told of history is proven false; it is left aside, so that another is asked. */
  distrust(host: string, reason: string): void
  /** State of every endpoint, the preferred one first. */
  endpoints(): readonly EndpointStatus[]
  /** Each endpoint by itself, for probes and proofs. */
  each(): readonly { readonly host: string; readonly source: ChainSource }[]
}
