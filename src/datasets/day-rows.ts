import { DAY_SECONDS, lastDays, startOfDay, toDate } from '#lib/day.ts'
import type { Period } from './parameters.ts'

/** A day of a series. */
export interface SeriesDay {
  readonly date: string
  readonly dateUnix: number
  /** False for today, which still changes. */
  readonly complete: boolean
}

/**
 * The UTC days of a period, oldest first, today last; `all` begins with the first day that has data.
 */
export function seriesDays(
  period: Period,
  asOfUnix: number,
  firstUnix: number | undefined,
): readonly SeriesDay[] {
  const today = startOfDay(asOfUnix)
  const sinceFirst = (today - startOfDay(firstUnix ?? asOfUnix)) / DAY_SECONDS + 1
  const count = period === 'all' ? Math.max(1, sinceFirst) : period
  return lastDays(asOfUnix, count).map((dateUnix) => ({
    date: toDate(dateUnix),
    dateUnix,
    complete: dateUnix !== today,
  }))
}

/** Values at the end of each day, walked back from the value now by each later day's change. */
export function valuesAtDayEnds(
  days: readonly SeriesDay[],
  now: bigint,
  changeOf: (dayUnix: number) => bigint,
): readonly bigint[] {
  const values: bigint[] = []
  let value = now
  for (const day of [...days].reverse()) {
    values.push(value)
    value -= changeOf(day.dateUnix)
  }
  return values.reverse()
}
