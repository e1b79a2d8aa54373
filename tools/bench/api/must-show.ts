import { type ApiLine, lineFor, ratioOf } from './api-row.ts'
import type { ExactResult } from './check-exact.ts'
import { type CallerKind, CONTESTANTS, type ContestantId } from './contestant.ts'

/** Everything that one run of the benchmark measured. */
export interface ApiResults {
  readonly bodyBytes: number
  readonly lines: readonly ApiLine[]
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

/** Least share of bare Fastify's requests a second, by connections. */
const SQLITE_SHARES = new Map([
  [64, 0.7],
  [512, 0.85],
])
const POSTGRES_SHARE = 0.5
const PAID_SHARE = 0.9
const P99_TIMES = 3
/** The generator had room to spare. */
const LOAD_SHARE = 0.95

/** The promised figures that a run can tell; those it did not measure are left out. */
export function promisedFigures(results: ApiResults): readonly Promised[] {
  return [
    ...CALLERS.flatMap((callers) => callerFigures(results.lines, callers)),
    ...exactFigures(results.exact),
  ].filter(({ measured }) => !Number.isNaN(measured))
}

function callerFigures(lines: readonly ApiLine[], callers: CallerKind): readonly Promised[] {
  const at = (id: ContestantId, connections: number) => lineFor(lines, id, callers, connections)
  return [...SQLITE_SHARES].flatMap(([connections, share]) => {
    const name = (text: string) => `${text}, ${callers}, ${connections} connections`
    const ours = at('c', connections)
    const ahead = (['e', 'e2', 'f'] as const).map((id) =>
      atLeast(name(`SQLite by ${CONTESTANTS[id]}`), rate(ours, at(id, connections)), 1),
    )
    const one = at('d', connections)?.ofFastify ?? Number.NaN
    return [
      atLeast(name('SQLite by bare Fastify'), ours?.ofFastify ?? Number.NaN, share),
      atMost(name('p99 of SQLite by bare Fastify'), p99(ours, at('b', connections)), P99_TIMES),
      ...ahead,
      ...(connections === 64
        ? [atLeast(name('PostgreSQL by bare Fastify'), one, POSTGRES_SHARE)]
        : []),
      atLeast(name('paid by free calls'), rate(at('g', connections), ours), PAID_SHARE),
      atMost(
        name('core used by the generator'),
        at('a', connections)?.loadShare ?? Number.NaN,
        LOAD_SHARE,
      ),
    ]
  })
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
