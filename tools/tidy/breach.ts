/** One place where a file breaks a rule of the house. */
export type Breach = {
  /** From the project's root, with `/` between its parts. */
  readonly path: string
  /** Counted from 1. */
  readonly line: number
  readonly rule: string
  /** What to do about it. */
  readonly mend: string
}

/** One line a breach: where, which rule, and the mend. */
export function describeBreaches(breaches: readonly Breach[]): string {
  return breaches
    .map((each) => `${each.path}:${each.line}  ${each.rule}  → ${each.mend}`)
    .join('\n')
}
