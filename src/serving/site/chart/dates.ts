import { DAY_SECONDS } from '#lib/time.ts'
import { dayName } from './format.ts'

export interface DateMark {
  /** Counts from the first day. */
  readonly index: number
  readonly name: string
}

/** What dates may be named, from the closest to the furthest apart. */
const CHOICES: readonly ((date: Date) => boolean)[] = [
  () => true,
  (date) => date.getUTCDate() % 5 === 1 && date.getUTCDate() < 30,
  (date) => date.getUTCDate() === 1 || date.getUTCDate() === 15,
  (date) => date.getUTCDate() === 1,
  (date) => date.getUTCDate() === 1 && date.getUTCMonth() % 3 === 0,
  (date) => date.getUTCDate() === 1 && date.getUTCMonth() === 0,
]

/** With a year's name, days of more than one year can be told apart. */
const DAYS_WITHOUT_YEAR = 300

/** Names at most so many dates between the first day (midnight UTC) and the last, which has a name of its own. */
export function datesBetween(fromUnix: number, count: number, most: number): readonly DateMark[] {
  const room = Math.max(1, count / (most + 1) / 2)
  const days = Array.from({ length: count }, (_, index) => index).filter(
    (index) => index < count - 1 - room,
  )
  const dateOf = (index: number) => new Date((fromUnix + index * DAY_SECONDS) * 1000)
  for (const isNamed of CHOICES) {
    const named = days.filter((index) => isNamed(dateOf(index)))
    if (named.length > most) continue
    return named.map((index) => ({
      index,
      name: dayName(fromUnix + index * DAY_SECONDS, count > DAYS_WITHOUT_YEAR),
    }))
  }
  return []
}
