/** Stored data is impossible: logs are missing or made up. */
export class MissingFactsError extends Error {
  override readonly name: string = 'MissingFactsError'
  readonly chainId: number

  constructor(chainId: number, message: string) {
    super(message)
    this.chainId = chainId
  }
}
