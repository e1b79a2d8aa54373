export class RpcError extends Error {
  override readonly name = 'RpcError'
  readonly tooLarge: boolean
  /** Proven false: set the node aside. */
  readonly lie: boolean

  constructor(
    message: string,
    options: {
      readonly cause?: unknown
      readonly tooLarge?: boolean
      readonly lie?: boolean
    } = {},
  ) {
    super(message, { cause: options.cause })
    this.tooLarge = options.tooLarge ?? false
    this.lie = options.lie ?? false
  }
}

export type FailureKind =
  | 'too-large'
  | 'too-fast'
  | 'no-method'
  | 'pruned'
  | 'behind'
  | 'reverted'
  | 'refused'
  | 'timeout'
  | 'cut-off'
  | 'unreachable'
  | 'malformed'
  | 'unproven'
  | 'aborted'

/** Names the host, never the URL, which may hold a key. */
export class EndpointError extends RpcError {
  readonly kind: FailureKind
  readonly retryAfterMs: number | undefined
  readonly blocksMax: number | undefined
  readonly blocksThatFit: number | undefined
  /** How many addresses one filter may have; infinite if the node does not say. */
  readonly addressesMax: number | undefined

  constructor(
    kind: FailureKind,
    message: string,
    more: {
      readonly cause?: unknown
      readonly tooLarge?: boolean
      readonly retryAfterMs?: number | undefined
      readonly blocksMax?: number | undefined
      readonly blocksThatFit?: number | undefined
      readonly addressesMax?: number | undefined
    } = {},
  ) {
    super(message, { cause: more.cause, tooLarge: more.tooLarge ?? kind === 'too-large' })
    this.kind = kind
    this.retryAfterMs = more.retryAfterMs
    this.blocksMax = more.blocksMax
    this.blocksThatFit = more.blocksThatFit
    this.addressesMax = more.addressesMax
  }
}

export function isOutage(kind: FailureKind): boolean {
  return kind === 'timeout' || kind === 'unreachable' || kind === 'malformed' || kind === 'cut-off'
}

export function asksToSlowDown(kind: FailureKind): boolean {
  return kind === 'too-fast' || kind === 'behind' || (isOutage(kind) && kind !== 'cut-off')
}

/** JSON-RPC 2.0, 5.1. The cause is the failure of a node that was asked before. */
export class NodeRefusal extends Error {
  override readonly name = 'NodeRefusal'
  readonly code: number
  constructor(code: number, message: string, options?: ErrorOptions) {
    super(message, options)
    this.code = code
  }
}
