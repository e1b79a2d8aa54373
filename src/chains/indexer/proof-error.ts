import type { Problem } from '#chains/ecosystem/problem.ts'

export class ProofError extends Error {
  override readonly name = 'ProofError'
  problems: readonly Problem[]

  constructor(field: string, message: string) {
    super(`${field}: ${message}`)
    this.problems = [{ field, message }]
  }

  static join(errors: readonly ProofError[]): ProofError {
    const joined = new ProofError('', '')
    joined.message = errors.map((error) => error.message).join('\n')
    joined.problems = errors.flatMap((error) => error.problems)
    return joined
  }
}
