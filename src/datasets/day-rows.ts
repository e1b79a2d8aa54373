import { DAY_SECONDS, lastDays, startOfDay, toDate } from '#lib/time.ts'
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
  return lastDays(asOfUnix, countDays(period, asOfUnix, firstUnix)).map((dateUnix) => ({
    date: toDate(dateUnix),
    dateUnix,
    complete: dateUnix !== today,
  }))
}

/** How many days a period has. */
export function countDays(period: Period, asOfUnix: number, firstUnix: number | undefined): number {
  if (period !== 'all') return period
  const [first, today] = [startOfDay(firstUnix ?? asOfUnix), startOfDay(asOfUnix)]
  return Math.max(1, (today - first) / DAY_SECONDS + 1)
}

/** Values at the end of each day, walked back from the value now; `without` takes a day's change off. */
export function valuesAtDayEnds<Value>(
  days: readonly SeriesDay[],
  now: Value,
  without: (value: Value, dayUnix: number) => Value,
): readonly Value[] {
  const values: Value[] = []
  let value = now
  for (const day of days.toReversed()) {
    values.push(value)
    value = without(value, day.dateUnix)
  }
  return values.reverse()
}
