/** What the chains say is not what the file says. A line for each difference, which names the field. */
export class ProofError extends Error {
  override readonly name = 'ProofError'
  constructor(field: string, message: string) {
    super(`${field}: ${message}`)
  }

  /** All differences of a file as one. */
  static join(errors: readonly ProofError[]): ProofError {
    const joined = new ProofError('', '')
    joined.message = errors.map((error) => error.message).join('\n')
    return joined
  }
}
