export class ProofError extends Error {
  override readonly name = 'ProofError'
  constructor(field: string, message: string) {
    super(`${field}: ${message}`)
  }

  static join(errors: readonly ProofError[]): ProofError {
    const joined = new ProofError('', '')
    joined.message = errors.map((error) => error.message).join('\n')
    return joined
  }
}
