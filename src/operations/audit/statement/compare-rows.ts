import type { TextRow } from './read-statement-file.ts'

export interface Comparison {
  readonly differences: readonly string[]
  readonly notes: readonly string[]
}

/** A statement with what the ledger gives for the same key and days. */
export function compareRows(stated: readonly TextRow[], actual: readonly TextRow[]): Comparison {
  const [given, found] = [stated, actual].map(byName)
  const differences: string[] = []
  const notes: string[] = []
  for (const [name, row] of given ?? []) {
    const other = found?.get(name)
    if (isRefundedSince(row, other))
      notes.push(
        `${name}: ${row.calls} free calls then, ${other?.calls ?? 0} after charges were undone`,
      )
    else if (other === undefined) differences.push(`${name}: not in the accounts`)
    else differences.push(...differencesOf(name, row, other))
  }
  for (const name of found?.keys() ?? [])
    if (!given?.has(name)) differences.push(`${name}: in the accounts, but not in the statement`)
  return { differences, notes }
}

function byName(rows: readonly TextRow[]): ReadonlyMap<string, TextRow> {
  return new Map(rows.map((row) => [[row.row, row.id ?? row.date].join(' '), row]))
}

/** Free calls that are undone late are booked nowhere. */
function isRefundedSince(row: TextRow, other: TextRow | undefined): boolean {
  return row.row === 'freeCalls' && Number(other?.calls ?? 0) < Number(row.calls)
}

function differencesOf(name: string, stated: TextRow, actual: TextRow): readonly string[] {
  const columns = new Set([...Object.keys(stated), ...Object.keys(actual)])
  return [...columns]
    .filter((column) => stated[column] !== actual[column])
    .map(
      (column) =>
        `${name}: ${column} is ${stated[column] ?? 'missing'}, the accounts have ${actual[column] ?? 'none'}`,
    )
}
