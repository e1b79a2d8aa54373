/** What is stored of a chain cannot be: some of its logs were never told, or are told by no log. */
export class MissingFactsError extends Error {
  override readonly name: string = 'MissingFactsError'
  readonly chainId: number

  constructor(chainId: number, message: string) {
    super(message)
    this.chainId = chainId
  }
}
