import type { BenchLine, BenchRow } from './bench-row.ts'
import { median } from './quantiles.ts'

/** One line per competitor and chain, each figure the median of its runs, in order of first run. */
export function summarise(rows: readonly BenchRow[]): readonly BenchLine[] {
  const groups = Map.groupBy(rows, ({ who, chain }) => `${who} ${chain}`)
  return [...groups.values()].flatMap((runs) => {
    const [first] = runs
    return first === undefined ? [] : [lineOf(first, runs)]
  })
}

function lineOf(first: BenchRow, runs: readonly BenchRow[]): BenchLine {
  const middle = (read: (row: BenchRow) => number | undefined) =>
    median(runs.map((row) => read(row) ?? Number.NaN))
  const seconds = middle((row) => row.seconds)
  return {
    who: first.who,
    chain: first.chain,
    logs: first.logs,
    runs: runs.length,
    seconds,
    eventsPerSecond: first.logs / seconds,
    cpuSeconds: middle((row) => row.cpuSeconds),
    peakMegabytes: middle((row) => row.peakMegabytes),
    usefulSeconds: middle((row) => row.usefulSeconds),
    restartSeconds: middle((row) => row.restartSeconds),
    diskMegabytes: middle((row) => row.diskMegabytes),
    calls: middle(({ counts }) => Object.values(counts.calls).reduce((sum, n) => sum + n, 0)),
    httpRequests: middle(({ counts }) => counts.httpRequests),
    proofRequests: middle(({ counts }) => counts.proofRequests),
    refusals: middle(({ counts }) => counts.refusals + counts.rateLimited),
    inFlightMax: middle(({ counts }) => counts.inFlightMax),
  }
}

/** The line of a competitor on a chain. */
export function lineFor(
  lines: readonly BenchLine[],
  who: string,
  chain: string,
): BenchLine | undefined {
  return lines.find((line) => line.who === who && line.chain === chain)
}

/** The fastest raw client on a chain: the lower bound. */
export function rawSeconds(lines: readonly BenchLine[], chain: string): number {
  const raw = lines.filter((line) => line.chain === chain && line.who.startsWith('raw'))
  return raw.length === 0 ? Number.NaN : Math.min(...raw.map((line) => line.seconds))
}
