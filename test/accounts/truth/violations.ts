/** Broken promises by rule, with the first examples of each. */
export class Violations {
  readonly #byRule = new Map<string, { count: number; readonly examples: string[] }>()

  add(rule: string, example: string): void {
    const known = this.#byRule.get(rule) ?? { count: 0, examples: [] }
    this.#byRule.set(rule, known)
    known.count += 1
    if (known.examples.length < EXAMPLES_MAX) known.examples.push(example)
  }

  /** A line for each rule that was broken. */
  lines(): readonly string[] {
    return [...this.#byRule].map(
      ([rule, { count, examples }]) => `${rule}: ${count} times, such as ${examples.join('; ')}`,
    )
  }
}

const EXAMPLES_MAX = 3
