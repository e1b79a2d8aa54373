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
