/** Unix milliseconds. */
export type Clock = () => number

export const systemClock: Clock = () => Date.now()

export function unixNow(clock: Clock): number {
  return Math.floor(clock() / 1000)
}

export const MINUTE_MS = 60_000
export const HOUR_SECONDS = 3_600
export const DAY_SECONDS = 86_400

/** Returns midnight UTC. */
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

/** Returns `YYYY-MM-DD` in UTC. */
export function toDate(unix: number): string {
  return new Date(unix * 1000).toISOString().slice(0, 10)
}

export function toIso(unix: number): string {
  return `${new Date(unix * 1000).toISOString().slice(0, 19)}Z`
}

/** Returns UTC midnights up to that of `untilUnix`, oldest first. */
export function lastDays(untilUnix: number, n: number): number[] {
  const last = startOfDay(untilUnix)
  return Array.from({ length: n }, (_, index) => last - (n - 1 - index) * DAY_SECONDS)
}

const RFC_3339 =
  /^(\d{4})-(\d{2})-(\d{2})T(\d{2}):(\d{2}):(\d{2})(?:\.(\d{1,9}))?(?:Z|([+-])(\d{2}):(\d{2}))$/

/** Parses RFC 3339 to Unix milliseconds. Stricter than Date: no 31 February, upper-case T and Z, no leap seconds. */
export function parseInstant(text: string): number | undefined {
  const match = RFC_3339.exec(text)
  if (match === null) return undefined
  const [year, month, day, hour, minute, second] = match.slice(1, 7).map(Number)
  if (year === undefined || month === undefined) return undefined
  const local = Date.UTC(year, month - 1, day, hour, minute, second)
  if (new Date(local).toISOString().slice(0, 19) !== text.slice(0, 19)) return undefined
  const offset = offsetMinutes(match[8], match[9], match[10])
  if (offset === undefined) return undefined
  return local + Number((match[7] ?? '').padEnd(3, '0').slice(0, 3)) - offset * 60_000
}

/** Parses Unix seconds, a day or RFC 3339 to Unix milliseconds. An unescaped `+` in a URL arrives as a space. */
export function parseMoment(text: string): number | undefined {
  if (/^\d{1,11}$/.test(text)) return Number(text) * 1_000
  if (/^\d{4}-\d{2}-\d{2}$/.test(text)) return parseInstant(`${text}T00:00:00Z`)
  return parseInstant(text.replace(/ (?=\d{2}:\d{2}$)/, '+'))
}

function offsetMinutes(
  sign: string | undefined,
  hours: string | undefined,
  minutes: string | undefined,
): number | undefined {
  if (sign === undefined) return 0
  if (Number(hours) > 23 || Number(minutes) > 59) return undefined
  const total = Number(hours) * 60 + Number(minutes)
  return sign === '-' ? -total : total
}

/** Milliseconds to wait, from seconds or an HTTP-date (RFC 9110, 10.2.3). */
export function retryAfterMs(header: string | undefined, nowMs: number): number | undefined {
  if (header === undefined) return undefined
  const text = header.trim()
  const ms = /^\d+(\.\d+)?$/.test(text) ? Number(text) * 1000 : Date.parse(text) - nowMs
  return Number.isNaN(ms) ? undefined : Math.max(0, ms)
}
