import { cut, dollars, ordinal, percent, short } from '#site/chart/format.ts'

export { dollars, ordinal, percent, short }

const whole = new Intl.NumberFormat('en', { maximumFractionDigits: 0, roundingMode: 'trunc' })

/** Such as `23,988,760`, cut. */
export function count(value: number | string): string {
  return typeof value === 'number' ? whole.format(value) : splitAmount(value)[0]
}

/** Whole part and decimals of an exact amount: `23,988,760` and `.590622`. */
export function splitAmount(amount: string, decimals = 6): readonly [string, string] {
  const [units = '0', rest = ''] = amount.split('.')
  return [whole.format(BigInt(units)), rest === '' ? '' : `.${rest.slice(0, decimals)}`]
}

/** An amount with three decimals, cut, so that a column aligns. */
export function amount(value: string): string {
  if (value === '0') return '0'
  const [units = '0', rest = ''] = value.split('.')
  const shown = `${whole.format(BigInt(units))}.${rest.padEnd(3, '0').slice(0, 3)}`
  if (units === '0' && /^0*$/.test(rest.slice(0, 3)) && /[1-9]/.test(rest))
    return `0.${rest.slice(0, rest.search(/[1-9]/) + 2)}`
  return shown
}

/** Dollars and cents, or a short form of a small price; null is blank. */
export function usd(value: number | null): string {
  if (value === null) return ''
  if (value !== 0 && Math.abs(value) < 0.01) return `$${cut(Math.abs(value), 4)}`
  const cents = Math.floor(Math.abs(value) * 100 + 1e-6)
  const text = `${whole.format(Math.floor(cents / 100))}.${String(cents % 100).padStart(2, '0')}`
  return value < 0 ? `−$${text}` : `$${text}`
}

export function price(value: number | null): string {
  return value === null ? '' : `$${cut(value, 6)}`
}

/** Such as `+12.30%`; a dash where there was nothing before. */
export function changeOf(now: number, before: number): string {
  if (before === 0) return '—'
  const change = (now / before - 1) * 100
  return `${change > 0 ? '+' : ''}${percent(change)}`
}

/** Dollars that are whole cents already; null is blank. */
export function cents(value: number | null): string {
  return value === null ? '' : usd(value / 100)
}

export function signedCents(value: number): string {
  return value > 0 ? `+${cents(value)}` : cents(value)
}

/** An amount with a real sign; nothing is blank. */
export function signed(value: string): string {
  if (/^-?[0.]*$/.test(value)) return ''
  return value.startsWith('-') ? `−${amount(value.slice(1))}` : `+${amount(value)}`
}

/** Such as `6 s`, `4 min`, `3 h`, `12 d`. */
export function age(seconds: number): string {
  if (seconds < 60) return `${Math.max(0, Math.floor(seconds))} s`
  if (seconds < 3_600) return `${Math.floor(seconds / 60)} min`
  if (seconds < 86_400) return `${Math.floor(seconds / 3_600)} h`
  return `${Math.floor(seconds / 86_400)} d`
}

export function shortAddress(address: string): string {
  return `${address.slice(0, 6)}…${address.slice(-4)}`
}

/** Such as `2026-11-29`, UTC. */
export function isoDay(unix: number): string {
  return new Date(unix * 1000).toISOString().slice(0, 10)
}

/** Such as `14:39 UTC`. */
export function clock(unix: number): string {
  return `${new Date(unix * 1000).toISOString().slice(11, 16)} UTC`
}
