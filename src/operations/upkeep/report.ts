import type { ExitCode } from '#main/command-context.ts'

export interface Report {
  say(text: string): void
  /** Prints one JSON object for programs, with `--json`. Call it once, at the end. */
  done(result: Readonly<Record<string, unknown>>, code?: ExitCode): void
}

/** Nothing was changed; says what would be right. */
export class UpkeepError extends Error {
  override readonly name = 'UpkeepError'
}
