import type { ExitCode } from '#main/role-context.ts'

export interface Report {
  say(text: string): void
  /** Prints one JSON object for programs, with `--json`. Call it once, at the end. */
  done(result: Readonly<Record<string, unknown>>, code?: ExitCode): void
}
