import { type ApiLine, lineFor, ratioOf } from './api-row.ts'
import type { ExactResult } from './check-exact.ts'
import { type CallerKind, CONTESTANTS, type ContestantId } from './contestant.ts'
import type { OpenLoopLine } from './run-open-loop.ts'

/** Everything that one run of the benchmark measured. */
export interface ApiResults {
  readonly bodyBytes: number
  readonly lines: readonly ApiLine[]
  readonly openLoop: readonly OpenLoopLine[]
  /** Whether the databases shared the cores of server and generator. */
  readonly sharesCores: boolean
  readonly exact?: ExactResult
}

/** One figure that the project promises. */
export interface Promised {
  readonly text: string
  readonly measured: number
  readonly limit: number
  readonly atMost: boolean
}

const CALLERS: readonly CallerKind[] = ['keyed', 'anonymous']

/** What is promised at a number of connections, as ratios within a round. */
interface Bars {
  readonly connections: number
  readonly ofFastify: number
  readonly cpuTimes: number
  /** With a core for the database alone, and where it shares the cores of server and generator. */
  readonly postgres: number
  readonly postgresSharing: number
  readonly redis: number
}

const BARS: readonly Bars[] = [
  {
    connections: 64,
    ofFastify: 0.55,
    cpuTimes: 1.8,
    postgres: 0.4,
    postgresSharing: 0.22,
    redis: 1.1,
  },
  {
    connections: 512,
    ofFastify: 0.68,
    cpuTimes: 1.6,
    postgres: 0.55,
    postgresSharing: 0.45,
    redis: 1.2,
  },
]
const DURABLE_REDIS = 1
const DURABLE_POSTGRES = 3
const PAID_SHARE = 0.75
const P99_TIMES = 3
/** The generator had room to spare. */
const LOAD_SHARE = 0.95

/** The promised figures that a run can tell; those it did not measure are left out. */
export function promisedFigures(results: ApiResults): readonly Promised[] {
  return [
    ...CALLERS.flatMap((callers) => BARS.flatMap((bars) => callerFigures(results, callers, bars))),
    ...exactFigures(results.exact),
  ].filter(({ measured }) => !Number.isNaN(measured))
}

function callerFigures(results: ApiResults, callers: CallerKind, bars: Bars): readonly Promised[] {
  const { connections } = bars
  const at = (id: ContestantId) => lineFor(results.lines, id, callers, connections)
  const name = (text: string) => `${text}, ${callers}, ${connections} connections`
  const ours = at('c')
  const fastify = at('b')
  const times = (id: ContestantId, least: number) =>
    atLeast(name(`SQLite by ${CONTESTANTS[id]}`), rate(ours, at(id)), least)
  const postgres = results.sharesCores ? bars.postgresSharing : bars.postgres
  return [
    times('b', bars.ofFastify),
    atMost(name('processor time by bare Fastify'), cpu(ours, fastify), bars.cpuTimes),
    atMost(name('p99 of SQLite by bare Fastify'), p99(ours, fastify), P99_TIMES),
    times('e3', DURABLE_REDIS),
    times('e2', bars.redis),
    times('f', DURABLE_POSTGRES),
    atLeast(name('PostgreSQL by bare Fastify'), rate(at('d'), fastify), postgres),
    atLeast(name('paid by free calls'), rate(at('g'), ours), PAID_SHARE),
    atMost(name('core used by the generator'), at('a')?.loadShare ?? Number.NaN, LOAD_SHARE),
  ]
}

function exactFigures(exact: ExactResult | undefined): readonly Promised[] {
  if (exact === undefined) return []
  return [
    atMost('two replicas: calls over quota and money', Math.abs(exact.overAdmitted), 0),
    atMost('two replicas: answers not counted, or the reverse', Math.abs(exact.miscounted), 0),
    atMost('two replicas: calls debited wrongly', Math.abs(exact.misdebited), 0),
  ]
}

function rate(line: ApiLine | undefined, other: ApiLine | undefined): number {
  return ratioOf(line?.rounds ?? [], other?.rounds ?? [], (row) => row.requestsPerSecond)
}

function cpu(line: ApiLine | undefined, other: ApiLine | undefined): number {
  return ratioOf(line?.rounds ?? [], other?.rounds ?? [], (row) => row.cpuMicroseconds)
}

function p99(line: ApiLine | undefined, other: ApiLine | undefined): number {
  return ratioOf(line?.rounds ?? [], other?.rounds ?? [], (row) => row.p99Ms)
}

function atMost(text: string, measured: number, limit: number): Promised {
  return { text, measured, limit, atMost: true }
}

function atLeast(text: string, measured: number, limit: number): Promised {
  return { text, measured, limit, atMost: false }
}

export function holds({ measured, limit, atMost: most }: Promised): boolean {
  return most ? measured <= limit : measured >= limit
}
