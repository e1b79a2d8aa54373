import { atLeast, atMost, median, type Promised } from '../report.ts'
import { CONTESTANTS, type ContestantId } from './contestants.ts'
import type { Load, Measured } from './measure.ts'

/** What each competitor showed with the same callers and connections, one after the other. */
export interface Round extends Pick<Load, 'callers' | 'connections'> {
  readonly measured: ReadonlyMap<ContestantId, Measured>
}

/** What is promised at a number of connections. */
const BARS = [
  { connections: 64, ofFastify: 0.55, cpu: 1.8, redis: 1.1, postgres: 0.4, sharing: 0.22 },
  { connections: 512, ofFastify: 0.68, cpu: 1.6, redis: 1.2, postgres: 0.55, sharing: 0.45 },
] as const
const DURABLE_REDIS = 1
const DURABLE_POSTGRES = 3
const PAID_SHARE = 0.75
const P99_TIMES = 3
/** The generator had room to spare. */
const LOAD_SHARE = 0.95

/** `sharesCores`: the databases have no core of their own. */
export function promisedFigures(
  rounds: readonly Round[],
  sharesCores: boolean,
): readonly Promised[] {
  return (['keyed', 'anonymous'] as const).flatMap((callers) =>
    BARS.flatMap((bars) => {
      const same = rounds.filter(
        (each) => each.callers === callers && each.connections === bars.connections,
      )
      return barsOf(same, bars, sharesCores).map(({ text, ...figure }) => ({
        ...figure,
        text: `${text}, ${callers}, ${bars.connections} connections`,
      }))
    }),
  )
}

function barsOf(
  rounds: readonly Round[],
  bars: (typeof BARS)[number],
  sharesCores: boolean,
): readonly Promised[] {
  const times = (id: ContestantId, least: number) =>
    atLeast(`SQLite by ${CONTESTANTS[id]}`, ratio(rounds, ['c', id], rate), least)
  const postgres = sharesCores ? bars.sharing : bars.postgres
  const loads = rounds.flatMap(({ measured }) => measured.get('b')?.loadShare ?? [])
  return [
    times('b', bars.ofFastify),
    atMost('processor time by bare Fastify', ratio(rounds, ['c', 'b'], cpu), bars.cpu),
    atMost('p99 of SQLite by bare Fastify', ratio(rounds, ['c', 'b'], p99), P99_TIMES),
    times('e3', DURABLE_REDIS),
    times('e2', bars.redis),
    times('f', DURABLE_POSTGRES),
    atLeast('PostgreSQL by bare Fastify', ratio(rounds, ['d', 'b'], rate), postgres),
    atLeast('paid by free calls', ratio(rounds, ['g', 'c'], rate), PAID_SHARE),
    atMost('core used by the generator', median(loads), LOAD_SHARE),
  ]
}

const rate = (each: Measured) => each.requestsPerSecond
const cpu = (each: Measured) => each.cpuMicroseconds
const p99 = (each: Measured) => each.p99Ms

/** The median of each round's ratio, because a slow moment of the machine hits both of a round. */
function ratio(
  rounds: readonly Round[],
  [one, other]: readonly [ContestantId, ContestantId],
  read: (each: Measured) => number,
): number {
  const ratios = rounds.flatMap(({ measured }) => {
    const [ours, theirs] = [measured.get(one), measured.get(other)]
    return ours === undefined || theirs === undefined ? [] : [read(ours) / read(theirs)]
  })
  return median(ratios)
}
