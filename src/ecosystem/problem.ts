export interface Problem {
  /** Path of the field, such as `chains[0].rpcUrls`. */
  readonly field: string
  readonly message: string
}

export class Problems {
  readonly list: Problem[] = []
  /** Indexes in the file, by part, of the list entries that are kept. */
  places: Readonly<Record<string, readonly number[]>> = {}

  add(field: string, message: string): undefined {
    const inFile = field.replace(
      /^([A-Za-z]+)\[([0-9]+)\]/,
      (_, part: string, index: string) => `${part}[${this.places[part]?.[Number(index)] ?? index}]`,
    )
    this.list.push({ field: inFile, message })
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
