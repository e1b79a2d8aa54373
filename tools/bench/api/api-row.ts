import { median } from '../index/quantiles.ts'
import type { CallerKind, ContestantId } from './contestant.ts'

/** One measured run of one competitor. */
export interface ApiRow {
  readonly id: ContestantId
  readonly callers: CallerKind
  readonly connections: number
  readonly requestsPerSecond: number
  readonly p50Ms: number
  readonly p99Ms: number
  readonly commitsPerSecond: number
  /** Processor time of the servers for one request, in microseconds. */
  readonly cpuMicroseconds: number
  readonly peakMegabytes: number
  /** Share of its core that the load generator used; near 1 it was the bottleneck. */
  readonly loadShare: number
  /** Calls that were counted and not answered when the generator hung up, or the other way round. */
  readonly miscounted: number
}

/** Medians of several runs, and the middle of each run's ratio to bare Fastify in its own round. */
export interface ApiLine extends ApiRow {
  readonly runs: number
  readonly ofFastify: number
}

/** One line per competitor, callers and connections. */
export function summarise(rows: readonly ApiRow[]): readonly ApiLine[] {
  const groups = Map.groupBy(rows, groupOf)
  return [...groups.values()].flatMap((runs) => {
    const [first] = runs
    return first === undefined ? [] : [lineOf(first, runs, groups)]
  })
}

function lineOf(
  first: ApiRow,
  runs: readonly ApiRow[],
  groups: ReadonlyMap<string, readonly ApiRow[]>,
): ApiLine {
  const middle = (read: (row: ApiRow) => number) => median(runs.map(read))
  const fastify = groups.get(groupOf({ ...first, id: 'b' })) ?? []
  const ratios = runs.map(
    (row, round) => row.requestsPerSecond / (fastify[round]?.requestsPerSecond ?? Number.NaN),
  )
  return {
    id: first.id,
    callers: first.callers,
    connections: first.connections,
    runs: runs.length,
    ofFastify: median(ratios),
    requestsPerSecond: middle((row) => row.requestsPerSecond),
    p50Ms: middle((row) => row.p50Ms),
    p99Ms: middle((row) => row.p99Ms),
    commitsPerSecond: middle((row) => row.commitsPerSecond),
    cpuMicroseconds: middle((row) => row.cpuMicroseconds),
    peakMegabytes: middle((row) => row.peakMegabytes),
    loadShare: middle((row) => row.loadShare),
    miscounted: Math.max(...runs.map((row) => row.miscounted)),
  }
}

function groupOf({ id, callers, connections }: Pick<ApiRow, 'id' | 'callers' | 'connections'>) {
  return `${id} ${callers} ${connections}`
}

export function lineFor(
  lines: readonly ApiLine[],
  id: ContestantId,
  callers: CallerKind,
  connections: number,
): ApiLine | undefined {
  return lines.find(
    (line) => line.id === id && line.callers === callers && line.connections === connections,
  )
}
