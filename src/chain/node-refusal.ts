/** JSON-RPC 2.0, 5.1. The cause is the failure of a node that was asked before. */
export class NodeRefusal extends Error {
  override readonly name = 'NodeRefusal'
  readonly code: number
  constructor(code: number, message: string, options?: ErrorOptions) {
    super(message, options)
    this.code = code
  }
}
