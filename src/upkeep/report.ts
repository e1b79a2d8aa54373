import type { TableProofs } from './copy-tables.ts'

export interface Report {
  /** For people. */
  say(text: string): void
  /** For programs: one JSON object, with `--json`. */
  done(result: Readonly<Record<string, unknown>>): void
}

export function showProofs(report: Report, store: string, proofs: TableProofs): void {
  for (const [table, { rows, sha256 }] of proofs)
    if (rows > 0) report.say(`${store}.${table}: ${rows} rows, sha256 ${sha256.slice(0, 16)}`)
}
