/** What the chains say is not what the file says. One line that names the field. */
export class ProofError extends Error {
  override readonly name = 'ProofError'
  constructor(field: string, message: string) {
    super(`${field}: ${message}`)
  }
}
