import type { ApiLine } from './api-row.ts'
import { CONTESTANTS } from './contestant.ts'
import { type ApiResults, holds, promisedFigures } from './must-show.ts'
import type { OpenLoopLine } from './run-open-loop.ts'

/** The table of all competitors and the promised figures, as text. */
export function printResults(results: ApiResults): string {
  const { exact } = results
  const exactness =
    exact === undefined
      ? []
      : [`two replicas: ${exact.answered} answered 200, ${exact.refused} answered 402`, '']
  const body = `The answer has ${results.bodyBytes} bytes.`
  const open = results.openLoop.length === 0 ? [] : [...openLoop(results.openLoop), '']
  const tables = [
    ...competitors(results.lines),
    '',
    ...open,
    ...exactness,
    ...promised(results),
    '',
  ]
  return [body, '', ...tables].join('\n')
}

function competitors(lines: readonly ApiLine[]): readonly string[] {
  const head = ['', 'who', 'callers', 'connections', 'runs', 'requests/s', 'of Fastify']
  const more = ['p50 ms', 'p99 ms', 'commits/s', 'CPU us', 'peak MB', 'load']
  const rows = [...lines]
    .sort((one, other) => placeOf(one).localeCompare(placeOf(other)))
    .map((line) => [
      line.id,
      CONTESTANTS[line.id],
      line.callers,
      String(line.connections),
      String(line.rounds.length),
      whole(line.requestsPerSecond),
      short(line.ofFastify),
      short(line.p50Ms),
      short(line.p99Ms),
      whole(line.commitsPerSecond),
      short(line.cpuMicroseconds),
      whole(line.peakMegabytes),
      short(line.loadShare),
    ])
  return table([...head, ...more], rows)
}

function openLoop(lines: readonly OpenLoopLine[]): readonly string[] {
  const rows = lines.map((line) => [
    line.id,
    CONTESTANTS[line.id],
    `${line.share * 100} %`,
    whole(line.requestsPerSecond),
    short(line.p50Ms),
    short(line.p99Ms),
    short(line.p999Ms),
  ])
  return table(
    ['', 'fixed rate', 'of its most', 'requests/s', 'p50 ms', 'p99 ms', 'p99.9 ms'],
    rows,
  )
}

/** Keyed before anonymous, few connections before many, then by letter. */
function placeOf({ id, callers, connections }: ApiLine): string {
  return `${callers === 'keyed' ? 0 : 1} ${String(connections).padStart(6)} ${id}`
}

function promised(results: ApiResults): readonly string[] {
  const rows = promisedFigures(results).map((each) => [
    holds(each) ? 'pass' : 'FAIL',
    each.text,
    short(each.measured),
    `${each.atMost ? 'at most' : 'at least'} ${each.limit}`,
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

function short(value: number): string {
  return Number.isNaN(value) ? '-' : value.toFixed(2)
}

function whole(value: number): string {
  return Number.isNaN(value) ? '-' : value.toLocaleString('en-US', { maximumFractionDigits: 0 })
}
