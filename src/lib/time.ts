/** Gives the present time in Unix milliseconds. Arrives as a dependency, so that a test can move it. */
export type Clock = () => number

export const systemClock: Clock = () => Date.now()

/** Whole Unix seconds of a clock. */
export function unixNow(clock: Clock): number {
  return Math.floor(clock() / 1000)
}

export const HOUR_SECONDS = 3_600
export const DAY_SECONDS = 86_400

/** Unix seconds of the UTC midnight at or before `unix`. */
export function startOfDay(unix: number): number {
  return unix - (unix % DAY_SECONDS)
}

/** Unix seconds of the full hour at or before `unix`. */
export function startOfHour(unix: number): number {
  return unix - (unix % HOUR_SECONDS)
}

/** Unix seconds of the next UTC midnight, always later than `unix`. */
export function nextMidnight(unix: number): number {
  return startOfDay(unix) + DAY_SECONDS
}

/** `YYYY-MM-DD` of a UTC day. */
export function toDate(unix: number): string {
  return new Date(unix * 1000).toISOString().slice(0, 10)
}

/** ISO 8601 in UTC with whole seconds: `2026-11-21T04:00:00Z`. */
export function toIso(unix: number): string {
  return `${new Date(unix * 1000).toISOString().slice(0, 19)}Z`
}

/** The n UTC days that end with the day of `untilUnix`, oldest first, as Unix seconds. */
export function lastDays(untilUnix: number, n: number): number[] {
  const last = startOfDay(untilUnix)
  return Array.from({ length: n }, (_, index) => last - (n - 1 - index) * DAY_SECONDS)
}
