import type { ExitCode } from '#main/role-context.ts'

export interface Report {
  say(text: string): void
  /** For programs: one JSON object, with `--json`. Once, at the end. */
  done(result: Readonly<Record<string, unknown>>, code?: ExitCode): void
}
