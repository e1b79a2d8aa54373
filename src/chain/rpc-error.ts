/** A node failed or gave an answer that cannot be true. The block is asked for again, never skipped. */
export class RpcError extends Error {
  override readonly name = 'RpcError'
  /** The range or answer was too large: ask for less. */
  readonly tooLarge: boolean
  /** What the node said is proven false: it is set aside, not only asked again. */
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
