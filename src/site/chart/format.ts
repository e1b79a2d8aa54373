const UNITS = [
  { from: 1e12, suffix: 't' },
  { from: 1e9, suffix: 'bn' },
  { from: 1e6, suffix: 'm' },
  { from: 1e3, suffix: 'k' },
] as const

/** Writes `23.99m`: truncated, never rounded up, with a real minus sign. */
export function short(value: number, digits = 4): string {
  const sign = value < 0 ? '−' : ''
  const size = Math.abs(value)
  const unit = UNITS.find(({ from }) => size >= from)
  if (unit !== undefined) return `${sign}${cut(size / unit.from, digits)}${unit.suffix}`
  return `${sign}${cut(size, digits)}`
}

/** A float has no more significant digits. */
const DIGITS_MAX = 15

/** Labels the ticks with as many digits as distinguish them. */
export function tickLabels(
  ticks: readonly number[],
  format: (value: number, digits?: number) => string,
): readonly string[] {
  for (let digits = 4; ; digits += 1) {
    const labels = ticks.map((tick) => format(tick, digits))
    if (new Set(labels).size === ticks.length || digits === DIGITS_MAX) return labels
  }
}

/** Truncates to this many significant digits, counted after the leading zeros of small prices. */
export function cut(value: number, digits: number): string {
  if (value === 0) return '0'
  const whole = Math.floor(Math.log10(value)) + 1
  const decimals = Math.max(0, digits - whole)
  // Compensates for float errors: a sum such as 0.1 + 0.2 must not lose its last digit.
  const scaled = Math.floor(value * 10 ** decimals * (1 + 4 * Number.EPSILON))
  const text = (scaled / 10 ** decimals).toFixed(Math.min(decimals, 20))
  return text.includes('.') ? text.replace(/\.?0+$/, '') : text
}

export function dollars(value: number, digits?: number): string {
  return value < 0 ? `−$${short(-value, digits)}` : `$${short(value, digits)}`
}

/** Writes `2.36%` or `0.0076%`: truncated, with at least two significant digits. */
export function percent(value: number, decimalsMin = 2): string {
  const zeros = value === 0 ? 0 : -Math.floor(Math.log10(Math.abs(value)))
  const decimals = Math.min(20, Math.max(decimalsMin, zeros + 1))
  const scale = 10 ** decimals
  // Adds a little, because 1.13 × 100 is 112.99…, which must not become 112.
  const parts = Math.floor(Math.abs(value) * scale + 1e-6)
  return `${value < 0 && parts > 0 ? '−' : ''}${(parts / scale).toFixed(decimals)}%`
}

/** Writes `42 min`, `7 h` or `3 d`: truncated to whole units. */
export function formatAge(seconds: number): string {
  if (seconds < 3_600) return `${Math.floor(seconds / 60)} min`
  return seconds < 172_800
    ? `${Math.floor(seconds / 3_600)} h`
    : `${Math.floor(seconds / 86_400)} d`
}

const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec']

/** Writes `23 Nov` or, with the year, `23 Nov 2026`; UTC. */
export function dayName(unix: number, withYear = false): string {
  const date = new Date(unix * 1000)
  const day = `${date.getUTCDate()} ${MONTHS[date.getUTCMonth()]}`
  return withYear ? `${day} ${date.getUTCFullYear()}` : day
}

/** Writes `1st`, `22nd`, `1,113th`. */
export function ordinal(value: number): string {
  const tens = Math.floor(value / 10) % 10
  const ending = tens === 1 ? undefined : ['th', 'st', 'nd', 'rd'][value % 10]
  return `${value.toLocaleString('en')}${ending ?? 'th'}`
}
