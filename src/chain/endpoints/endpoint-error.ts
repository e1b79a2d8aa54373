import { RpcError } from '../rpc-error.ts'

/** Why a request came to nothing; what to do about it depends on this alone. */
export type FailureKind =
  /** The range or the answer was too large. */
  | 'too-large'
  /** Asked too often: HTTP 429 or a provider's own words for it. */
  | 'too-fast'
  | 'no-method'
  /** The node has dropped the history or state that was asked for. */
  | 'pruned'
  /** The node that answered does not have the blocks that were asked for yet. */
  | 'behind'
  /** The called contract refused; every node would say the same. */
  | 'reverted'
  /** Any other JSON-RPC error, or an HTTP status that means "no". */
  | 'refused'
  | 'timeout'
  /** The answer ended before it was whole. */
  | 'cut-off'
  /** No connection, or a gateway without a node behind it. */
  | 'unreachable'
  /** Something else than the answer to what was asked. */
  | 'malformed'
  /** Its answer about a block does not hash to the block's hash. */
  | 'unproven'
  /** The caller no longer wants the answer. */
  | 'aborted'

/** A failed request to one endpoint. The message names its host, never its URL. */
export class EndpointError extends RpcError {
  readonly kind: FailureKind
  /** How long the endpoint wants to be left alone. */
  readonly retryAfterMs: number | undefined
  /** The most blocks per range that the endpoint says it allows. */
  readonly blocksMax: number | undefined
  /** How many blocks the endpoint says would fit this time. */
  readonly blocksThatFit: number | undefined

  constructor(
    kind: FailureKind,
    message: string,
    more: {
      readonly cause?: unknown
      readonly tooLarge?: boolean
      readonly retryAfterMs?: number | undefined
      readonly blocksMax?: number | undefined
      readonly blocksThatFit?: number | undefined
    } = {},
  ) {
    super(message, { cause: more.cause, tooLarge: more.tooLarge ?? kind === 'too-large' })
    this.kind = kind
    this.retryAfterMs = more.retryAfterMs
    this.blocksMax = more.blocksMax
    this.blocksThatFit = more.blocksThatFit
  }
}

/** Whether the endpoint itself is in trouble, whatever was asked. */
export function isOutage(kind: FailureKind): boolean {
  return kind === 'timeout' || kind === 'unreachable' || kind === 'malformed' || kind === 'cut-off'
}

/** Whether fewer requests at a time may help. */
export function asksForCalm(kind: FailureKind): boolean {
  return kind === 'too-fast' || kind === 'behind' || (isOutage(kind) && kind !== 'cut-off')
}
