import { DAY_SECONDS, lastDays, startOfDay, toDate } from '#lib/time.ts'
import type { Period } from './parameters.ts'

export interface SeriesDay {
  readonly date: string
  readonly dateUnix: number
  /** False for today. */
  readonly complete: boolean
}

/** Returns days oldest first, today last; `all` starts at the first day with data. */
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

export function countDays(period: Period, asOfUnix: number, firstUnix: number | undefined): number {
  if (period !== 'all') return period
  const [first, today] = [startOfDay(firstUnix ?? asOfUnix), startOfDay(asOfUnix)]
  return Math.max(1, (today - first) / DAY_SECONDS + 1)
}

/** Computes values backwards from the current one; `without` subtracts a day's change. */
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
