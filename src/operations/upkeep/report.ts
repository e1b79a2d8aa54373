import type { ExitCode } from '#main/role-context.ts'
import type { TableProofs } from '#operations/copy/copy-tables.ts'

export interface Report {
  say(text: string): void
  /** For programs: one JSON object, with `--json`. Once, at the end. */
  done(result: Readonly<Record<string, unknown>>, code?: ExitCode): void
}

export function showProofs(report: Report, store: string, proofs: TableProofs): void {
  for (const [table, { rows, sha256 }] of proofs)
    if (rows > 0) report.say(`${store}.${table}: ${rows} rows, sha256 ${sha256.slice(0, 16)}`)
}
