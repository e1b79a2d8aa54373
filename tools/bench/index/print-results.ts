import { type BenchResults, holds, promisedFigures } from './must-show.ts'
import { rawSeconds } from './summarise.ts'

/** The table of all competitors and the promised figures, as text. */
export function printResults(results: BenchResults): string {
  return [...competitors(results), '', ...reads(results), ...promised(results), ''].join('\n')
}

function competitors({ lines }: BenchResults): readonly string[] {
  const head = ['who', 'chain', 'logs', 'runs', 's', 'events/s', 'x raw', 'CPU s', 'peak MB']
  const counts = [
    'calls',
    'HTTP',
    'proofs',
    'refused',
    'in flight',
    'useful s',
    'restart s',
    'disk MB',
  ]
  const rows = lines.map((line) => [
    line.who,
    line.chain,
    whole(line.logs),
    whole(line.runs),
    short(line.seconds),
    whole(line.eventsPerSecond),
    short(line.seconds / rawSeconds(lines, line.chain)),
    short(line.cpuSeconds),
    whole(line.peakMegabytes),
    whole(line.calls),
    whole(line.httpRequests),
    whole(line.proofRequests),
    whole(line.refusals),
    whole(line.inFlightMax),
    short(line.usefulSeconds),
    short(line.restartSeconds),
    whole(line.diskMegabytes),
  ])
  return table([...head, ...counts], rows)
}

function reads({ reads: found, stats }: BenchResults): readonly string[] {
  if (found === undefined) return []
  const rows = Object.entries(found.big).map(([name, p99]) => [
    name,
    short(found.small[name]),
    short(p99),
  ])
  const during =
    stats === undefined
      ? []
      : [
          `p99 of /api/stats: ${short(stats.idle)} ms idle, ${short(stats.backfill)} ms in a backfill`,
        ]
  return [...table(['p99 in ms', 'small', 'big'], rows), ...during, '']
}

function promised(results: BenchResults): readonly string[] {
  const rows = promisedFigures(results).map((each) => [
    holds(each) ? 'pass' : 'FAIL',
    each.text,
    `${each.measured >= 100 ? whole(each.measured) : short(each.measured)} ${each.unit}`,
    `${each.atMost ? 'at most' : 'at least'} ${whole(each.limit)}`,
  ])
  return table(['', 'must show', 'measured', 'promised'], rows)
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): readonly string[] {
  const all = [head, ...rows]
  const widths = head.map((_, column) => Math.max(...all.map((row) => row[column]?.length ?? 0)))
  const line = (row: readonly string[]) =>
    row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join('  ')
  return [line(head), widths.map((width) => '-'.repeat(width)).join('  '), ...rows.map(line)]
}

function short(value: number | undefined): string {
  return value === undefined || Number.isNaN(value) ? '-' : value.toFixed(2)
}

function whole(value: number | undefined): string {
  if (value === undefined || Number.isNaN(value)) return '-'
  const digits = Math.abs(value) >= 10 ? 0 : 2
  return value.toLocaleString('en-US', { maximumFractionDigits: digits })
}
