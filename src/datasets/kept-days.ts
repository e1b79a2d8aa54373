import { LRUCache } from 'lru-cache'
import { readSettled, type Settled, stillHolds } from '#indexer/settled.ts'
import type { IndexStatus } from '#indexer/status.ts'
import { DAY_SECONDS, startOfDay } from '#lib/time.ts'
import type { Connection } from '#store/engine.ts'
import { countDays, type SeriesDay, seriesDays } from './day-rows.ts'
import type { Period } from './parameters.ts'

/** Where the days of a series come from, in the state of the register that is asked of. */
export interface DaySource<Day> {
  /** The first moment with data (Unix seconds); undefined before any. */
  firstUnix(): Promise<number | undefined>
  /** What is shown of each of these days; it depends on nothing that happened after the day. */
  read(days: readonly SeriesDay[]): Promise<readonly Day[]>
}

/** Which days are wanted, and of which state of the register. */
export interface WantedDays {
  /** Whatever tells a series from the others. */
  readonly series: string
  readonly period: Period
  readonly connection: Connection
  readonly status: IndexStatus
}

/** The days of a series up to the newest, as they were in one state of the register. */
interface Kept<Day> {
  readonly revision: string
  readonly settled: Settled
  readonly firstUnix: number | undefined
  /** Unix seconds of the first of `days`. */
  readonly fromUnix: number
  readonly days: readonly Day[]
}

/** Of all series together: 68 series of two years. A day takes 160 bytes (a point) to 600 (burns). */
const DAYS_MAX = 50_000

/**
 * Days of series as they are shown, shared by all periods. While the index stands at a height they are
 * read once; when it moves on, only days are read again that were not settled.
 */
export class KeptDays<Day> {
  readonly #series = new LRUCache<string, Kept<Day>>({
    maxSize: DAYS_MAX,
    sizeCalculation: ({ days }) => days.length,
  })

  /** The days of a period, oldest first, today last. */
  async last(wanted: WantedDays, source: DaySource<Day>): Promise<readonly Day[]> {
    const { period, status } = wanted
    const known = this.#series.get(wanted.series)
    const kept =
      known?.revision === status.revision && lengthOf(wanted, known.firstUnix) <= known.days.length
        ? known
        : await readKept(wanted, source, known)
    if (kept !== known) this.#series.set(wanted.series, kept)
    return kept.days.slice(-countDays(period, status.asOfUnix, kept.firstUnix))
  }
}

async function readKept<Day>(
  wanted: WantedDays,
  source: DaySource<Day>,
  known: Kept<Day> | undefined,
): Promise<Kept<Day>> {
  const { asOfUnix, revision } = wanted.status
  const settled = await readSettled(wanted.connection, wanted.status)
  const lasting = known === undefined ? undefined : lastingOf(known, settled)
  const firstUnix = lasting?.firstUnix ?? (await source.firstUnix())
  const length = lengthOf(wanted, firstUnix)
  const fromUnix = startOfDay(asOfUnix) - (length - 1) * DAY_SECONDS
  if (lasting === undefined || lasting.fromUnix > fromUnix) {
    const days = await source.read(seriesDays(length, asOfUnix, undefined))
    return { revision, settled, firstUnix, fromUnix, days }
  }
  const again = lasting.fromUnix + lasting.days.length * DAY_SECONDS
  const days = await source.read(seriesDays('all', asOfUnix, again))
  return { ...lasting, revision, settled, firstUnix, days: [...lasting.days, ...days] }
}

/** As many days as the history has, or as are asked for where that is more. */
function lengthOf({ period, status }: WantedDays, firstUnix: number | undefined): number {
  const all = countDays('all', status.asOfUnix, firstUnix)
  return period === 'all' ? all : Math.max(all, period)
}

/** The days that are as they were, and the first moment with data where it is among them. */
function lastingOf<Day>({ settled, ...known }: Kept<Day>, now: Settled) {
  if (!stillHolds(settled, now)) return undefined
  const untilUnix = startOfDay(settled.untilUnix)
  const count = Math.max(0, (untilUnix - known.fromUnix) / DAY_SECONDS)
  const isFirstSettled = known.firstUnix !== undefined && known.firstUnix < untilUnix
  return {
    fromUnix: known.fromUnix,
    days: known.days.slice(0, count),
    firstUnix: isFirstSettled ? known.firstUnix : undefined,
  }
}
