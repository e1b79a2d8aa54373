import type { BenchLine } from './bench-row.ts'
import type { ReadLatency } from './read-latency.ts'
import { lineFor, rawSeconds } from './summarise.ts'

/** Everything that one run of the benchmark measured. */
export interface BenchResults {
  readonly lines: readonly BenchLine[]
  /** p99 in milliseconds by endpoint on the small and on the big chain. */
  readonly reads?: { readonly small: ReadLatency; readonly big: ReadLatency }
  /** p99 of /api/stats in milliseconds. */
  readonly stats?: { readonly backfill: number; readonly idle: number }
}

/** One figure that the project promises. */
export interface Promised {
  readonly text: string
  readonly measured: number
  readonly limit: number
  readonly unit: string
  readonly atMost: boolean
}

export const CHAINS = {
  main: 'main',
  slow: '50 ms, 2,000 blocks',
  big: 'big',
  rival: 'rival',
} as const

export const WHO = { sqlite: 'sexton, SQLite', postgres: 'sexton, PostgreSQL' } as const

/** Requests that do not grow with the history: proofs, the head, polls. */
const REQUESTS_FIXED = 20
const LOGS_PER_REQUEST = 6_000

/** The promised figures that a run can tell; those it did not measure are left out. */
export function promisedFigures(results: BenchResults): readonly Promised[] {
  const { lines } = results
  const main = lineFor(lines, WHO.sqlite, CHAINS.main)
  return [
    ...(main === undefined ? [] : coldFigures(lines, main)),
    ...slowFigures(lines),
    ...(main === undefined ? [] : bigFigures(lines, main)),
    ...readFigures(results),
  ].filter(({ measured }) => !Number.isNaN(measured))
}

function coldFigures(lines: readonly BenchLine[], main: BenchLine): readonly Promised[] {
  const postgres = lineFor(lines, WHO.postgres, CHAINS.main)
  const ponders = lines.filter((line) => line.who.startsWith('ponder'))
  const fastest = Math.max(...ponders.map((line) => line.eventsPerSecond))
  return [
    atMost('cold, times the raw lower bound', main.seconds / rawSeconds(lines, CHAINS.main), 2),
    atLeast('cold on SQLite', main.eventsPerSecond, 200_000, 'events/s'),
    atLeast('cold on PostgreSQL', postgres?.eventsPerSecond ?? Number.NaN, 80_000, 'events/s'),
    atLeast('times the faster Ponder', main.eventsPerSecond / Math.max(fastest, 0), 100),
    requests(main),
  ].filter(({ measured }) => Number.isFinite(measured))
}

function slowFigures(lines: readonly BenchLine[]): readonly Promised[] {
  const slow = lineFor(lines, WHO.sqlite, CHAINS.slow)
  if (slow === undefined) return []
  const ratio = slow.seconds / rawSeconds(lines, CHAINS.slow)
  return [atMost(`with ${CHAINS.slow}: times raw with as many in flight`, ratio, 2)]
}

function bigFigures(lines: readonly BenchLine[], main: BenchLine): readonly Promised[] {
  const big = lineFor(lines, WHO.sqlite, CHAINS.big)
  if (big === undefined) return []
  const { usefulSeconds = Number.NaN, restartSeconds = Number.NaN } = big
  return [
    atLeast('big: times the rate of main', big.eventsPerSecond / main.eventsPerSecond, 0.8),
    atMost('big: peak memory', big.peakMegabytes, 400, 'MB'),
    atMost('big: first useful answer', usefulSeconds, 3, 's'),
    atMost('big: restart to ready', restartSeconds, 0.5, 's'),
    requests(big),
  ]
}

function readFigures({ reads, stats }: BenchResults): readonly Promised[] {
  const grown = Object.entries(reads?.big ?? {}).map(([name, p99]) =>
    atMost(`p99 of ${name}, big / small`, p99 / (reads?.small[name] ?? Number.NaN), 1.5),
  )
  if (stats === undefined) return grown
  return [...grown, atMost('p99 of /api/stats, backfill / idle', stats.backfill / stats.idle, 3)]
}

/** Proofs of payments go on at their own pace, however fast the history is read. */
function requests({ chain, logs, httpRequests, proofRequests }: BenchLine): Promised {
  const limit = Math.floor(logs / LOGS_PER_REQUEST) + REQUESTS_FIXED
  const text = `HTTP requests without proofs (${chain})`
  return atMost(text, httpRequests - proofRequests, limit, 'requests')
}

function atMost(text: string, measured: number, limit: number, unit = 'x'): Promised {
  return { text, measured, limit, unit, atMost: true }
}

function atLeast(text: string, measured: number, limit: number, unit = 'x'): Promised {
  return { text, measured, limit, unit, atMost: false }
}

export function holds({ measured, limit, atMost: most }: Promised): boolean {
  return most ? measured <= limit : measured >= limit
}
