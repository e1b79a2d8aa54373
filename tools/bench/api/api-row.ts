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

/** Medians of several rounds. */
export interface ApiLine extends ApiRow {
  readonly rounds: readonly ApiRow[]
  /** Requests a second by those of bare Fastify. */
  readonly ofFastify: number
}

/** One line per competitor, callers and connections. */
export function summarise(rows: readonly ApiRow[]): readonly ApiLine[] {
  const groups = Map.groupBy(rows, groupOf)
  return [...groups.values()].flatMap((rounds) => {
    const [first] = rounds
    return first === undefined ? [] : [lineOf(first, rounds, groups)]
  })
}

function lineOf(
  first: ApiRow,
  rounds: readonly ApiRow[],
  groups: ReadonlyMap<string, readonly ApiRow[]>,
): ApiLine {
  const middle = (read: (row: ApiRow) => number) => median(rounds.map(read))
  const fastify = groups.get(groupOf({ ...first, id: 'b' })) ?? []
  return {
    id: first.id,
    callers: first.callers,
    connections: first.connections,
    rounds,
    ofFastify: ratioOf(rounds, fastify, (row) => row.requestsPerSecond),
    requestsPerSecond: middle((row) => row.requestsPerSecond),
    p50Ms: middle((row) => row.p50Ms),
    p99Ms: middle((row) => row.p99Ms),
    commitsPerSecond: middle((row) => row.commitsPerSecond),
    cpuMicroseconds: middle((row) => row.cpuMicroseconds),
    peakMegabytes: middle((row) => row.peakMegabytes),
    loadShare: middle((row) => row.loadShare),
    miscounted: Math.max(...rounds.map((row) => row.miscounted)),
  }
}

/** The middle of each round's ratio: a slow moment of the machine hits both of a round. NaN where one has none. */
export function ratioOf(
  rounds: readonly ApiRow[],
  others: readonly ApiRow[],
  read: (row: ApiRow) => number,
): number {
  const ratios = rounds.flatMap((row, round) => {
    const other = others[round]
    return other === undefined ? [] : [read(row) / read(other)]
  })
  return median(ratios)
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
