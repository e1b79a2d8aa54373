import { LRUCache } from 'lru-cache'
import { type ChainFinality, readFinality, stillHolds } from '#chains/indexer/finality.ts'
import type { IndexStatus } from '#chains/indexer/status.ts'
import { DAY_SECONDS, startOfDay } from '#lib/time.ts'
import type { Connection } from '#store/engine.ts'
import { countDays, type SeriesDay, seriesDays } from './day-rows.ts'
import type { Period } from './parameters.ts'

/** Reads days of one state of the register. */
export interface DaySource<Day> {
  firstUnix(): Promise<number | undefined>
  /** A day must not depend on anything after it. */
  read(days: readonly SeriesDay[]): Promise<readonly Day[]>
}

export interface WantedDays {
  /** Identifies the series. */
  readonly series: string
  readonly period: Period
  readonly connection: Connection
  readonly status: IndexStatus
}

/** Days as one state of the register shows them. */
interface CachedDays<Day> {
  readonly revision: string
  readonly finality: ChainFinality
  readonly firstUnix: number | undefined
  readonly fromUnix: number
  readonly days: readonly Day[]
}

/** About 68 series of two years. */
const DAYS_MAX = 50_000

/** Caches days for all periods; when the index moves on, only days that are not final are read again. */
export class DayCache<Day> {
  readonly #series = new LRUCache<string, CachedDays<Day>>({
    maxSize: DAYS_MAX,
    sizeCalculation: ({ days }) => days.length,
  })

  async last(wanted: WantedDays, source: DaySource<Day>): Promise<readonly Day[]> {
    const { period, status } = wanted
    const known = this.#series.get(wanted.series)
    const cached =
      known?.revision === status.revision && lengthOf(wanted, known.firstUnix) <= known.days.length
        ? known
        : await readDays(wanted, source, known)
    if (cached !== known) this.#series.set(wanted.series, cached)
    return cached.days.slice(-countDays(period, status.asOfUnix, cached.firstUnix))
  }
}

async function readDays<Day>(
  wanted: WantedDays,
  source: DaySource<Day>,
  known: CachedDays<Day> | undefined,
): Promise<CachedDays<Day>> {
  const { asOfUnix, revision } = wanted.status
  const finality = await readFinality(wanted.connection, wanted.status)
  const lasting = known === undefined ? undefined : lastingOf(known, finality)
  const firstUnix = lasting?.firstUnix ?? (await source.firstUnix())
  const length = lengthOf(wanted, firstUnix)
  const fromUnix = startOfDay(asOfUnix) - (length - 1) * DAY_SECONDS
  if (lasting === undefined || lasting.fromUnix > fromUnix) {
    const days = await source.read(seriesDays(length, asOfUnix, undefined))
    return { revision, finality, firstUnix, fromUnix, days }
  }
  const again = lasting.fromUnix + lasting.days.length * DAY_SECONDS
  const days = await source.read(seriesDays('all', asOfUnix, again))
  return { ...lasting, revision, finality, firstUnix, days: [...lasting.days, ...days] }
}

/** Counts the days of the whole history, or of the period if longer. */
function lengthOf({ period, status }: WantedDays, firstUnix: number | undefined): number {
  const all = countDays('all', status.asOfUnix, firstUnix)
  return period === 'all' ? all : Math.max(all, period)
}

/** The days that are still valid. */
function lastingOf<Day>({ finality, ...known }: CachedDays<Day>, now: ChainFinality) {
  if (!stillHolds(finality, now)) return undefined
  const untilUnix = startOfDay(finality.untilUnix)
  const count = Math.max(0, (untilUnix - known.fromUnix) / DAY_SECONDS)
  const isFirstFinal = known.firstUnix !== undefined && known.firstUnix < untilUnix
  return {
    fromUnix: known.fromUnix,
    days: known.days.slice(0, count),
    firstUnix: isFirstFinal ? known.firstUnix : undefined,
  }
}
