/** Unix milliseconds. */
export type Clock = () => number

export const systemClock: Clock = () => Date.now()

export function unixNow(clock: Clock): number {
  return Math.floor(clock() / 1000)
}

export const MINUTE_MS = 60_000
export const HOUR_SECONDS = 3_600
export const DAY_SECONDS = 86_400

/** UTC. */
export function startOfDay(unix: number): number {
  return unix - (unix % DAY_SECONDS)
}

export function startOfHour(unix: number): number {
  return unix - (unix % HOUR_SECONDS)
}

/** Always later than `unix`. */
export function nextMidnight(unix: number): number {
  return startOfDay(unix) + DAY_SECONDS
}

/** UTC. */
export function toDate(unix: number): string {
  return new Date(unix * 1000).toISOString().slice(0, 10)
}

export function toIso(unix: number): string {
  return `${new Date(unix * 1000).toISOString().slice(0, 19)}Z`
}

/** Midnights (UTC) up to that of `untilUnix`, oldest first. */
export function lastDays(untilUnix: number, n: number): number[] {
  const last = startOfDay(untilUnix)
  return Array.from({ length: n }, (_, index) => last - (n - 1 - index) * DAY_SECONDS)
}
