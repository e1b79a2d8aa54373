import type { Measured } from './measure-load.ts'
import type { Costs, Work } from './simulate.ts'

/** Least squares of the relative errors over some measured loads. */
export function fitCosts(
  rows: readonly Measured[],
  disk: Pick<Costs, 'flushMs' | 'roundTripMs' | 'walBytesPerSecond'>,
): Costs {
  const cpu = (seconds: number) => seconds * 1e6
  const load = rows.reduce((sum, each) => sum + cpu(each.loadCpu) / each.calls, 0) / rows.length
  return {
    ...disk,
    replica: fit(rows, (each) => cpu(replicaCpuOf(each)), ['calls', 'batches', 'wallets']),
    database: fit(rows, (each) => cpu(each.databaseCpu), ['batches', 'wallets']),
    loadPerCall: load,
    wal: fit(rows, (each) => each.walBytes, ['batches', 'wallets']),
  }
}

export function replicaCpuOf({ replicaCpu }: Measured): number {
  return replicaCpu.reduce((sum, each) => sum + each, 0)
}

/** What a load costs by second. Its wallets call in turn, so a batch has one for each call, or all. */
export function costOf(
  work: Work,
  { calls, commits, wallets }: Pick<Measured, 'calls' | 'commits' | 'wallets'>,
): number {
  const distinct = Math.min(calls / commits, wallets)
  return work.perCall * calls + (work.perBatch + work.perWallet * distinct) * commits
}

type Term = 'calls' | 'batches' | 'wallets'

function fit(
  rows: readonly Measured[],
  figure: (row: Measured) => number,
  terms: readonly Term[],
): Work {
  const unit = { perCall: 0, perBatch: 0, perWallet: 0 }
  const of: Record<Term, Work> = {
    calls: { ...unit, perCall: 1 },
    batches: { ...unit, perBatch: 1 },
    wallets: { ...unit, perWallet: 1 },
  }
  const table = rows.map((row) => terms.map((term) => costOf(of[term], row) / figure(row)))
  const normal = terms.map((_, row) => [
    ...terms.map((_, column) => sum(table.map((each) => (each[row] ?? 0) * (each[column] ?? 0)))),
    sum(table.map((each) => each[row] ?? 0)),
  ])
  const solved = solve(normal)
  const found = (term: Term) => solved[terms.indexOf(term)] ?? 0
  return {
    perCall: found('calls'),
    perBatch: found('batches'),
    perWallet: found('wallets'),
  }
}

/** Gauss and Jordan; each row has its right side last. */
function solve(system: readonly number[][]): readonly number[] {
  const rows = system.map((row) => [...row])
  for (const [index, pivot] of rows.entries()) {
    const by = pivot[index] ?? Number.NaN
    for (const [column, value] of pivot.entries()) pivot[column] = value / by
    for (const other of rows) {
      if (other === pivot) continue
      const times = other[index] ?? 0
      for (const [column, value] of pivot.entries())
        other[column] = (other[column] ?? 0) - times * value
    }
  }
  return rows.map((row) => row.at(-1) ?? Number.NaN)
}

function sum(list: readonly number[]): number {
  return list.reduce((total, each) => total + each, 0)
}
