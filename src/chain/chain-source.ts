import type { Address, Hash } from '#domain/address.ts'
import type { BlockHeader, Log } from '#domain/chain.ts'
import type { LogFilter } from './log-filter.ts'

/** A log as a node gives it: the time of its block is known only where the node sends it. */
export type SourceLog = Omit<Log, 'timestamp'> & { readonly timestamp: number | null }

export type BlockTag = 'latest' | 'safe' | 'finalized'

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
   * Does several things on one and the same endpoint, so that one answer vouches for another. The
   * next endpoint is tried from the beginning, unless the first only wants less at a time.
   */
  onOneEndpoint<T>(work: (source: ChainSource) => Promise<T>): Promise<T>
  /** `eth_getCode`: `0x` where there is no contract. */
  code(address: Address): Promise<`0x${string}`>
  /** `eth_call` at a block. */
  call(to: Address, data: `0x${string}`, block?: number): Promise<`0x${string}`>
}

/** A node failed or gave an answer that cannot be true. The block is asked for again, never skipped. */
export class RpcError extends Error {
  override readonly name = 'RpcError'
  /** The range or answer was too large: ask for less. */
  readonly tooLarge: boolean

  constructor(
    message: string,
    options: { readonly cause?: unknown; readonly tooLarge?: boolean } = {},
  ) {
    super(message, { cause: options.cause })
    this.tooLarge = options.tooLarge ?? false
  }
}
