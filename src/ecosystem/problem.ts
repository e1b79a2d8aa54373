export interface Problem {
  /** Path of the field, such as `chains[0].rpcUrls`. */
  readonly field: string
  readonly message: string
}

export class Problems {
  readonly list: Problem[] = []

  add(field: string, message: string): undefined {
    this.list.push({ field, message })
    return undefined
  }
}

/** One line per mistake: file, field, what is wrong, what would be right. */
export class EcosystemError extends Error {
  override readonly name = 'EcosystemError'

  readonly problems: readonly Problem[]

  constructor(file: string, problems: readonly Problem[]) {
    super(problems.map(({ field, message }) => `${file}: ${field}: ${message}`).join('\n'))
    this.problems = problems
  }
}
