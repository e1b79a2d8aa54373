import assert from 'node:assert/strict'

const DECIMAL = /^(0|[1-9][0-9]*)(?:\.([0-9]+))?$/

/** Writes neither an exponent nor trailing zeros. */
export function formatDecimal(raw: bigint, decimals: number): string {
  const sign = raw < 0n ? '-' : ''
  const digits = (raw < 0n ? -raw : raw).toString().padStart(decimals + 1, '0')
  const whole = digits.slice(0, digits.length - decimals)
  const fraction = digits.slice(digits.length - decimals).replace(/0+$/, '')
  return sign + (fraction === '' ? whole : `${whole}.${fraction}`)
}

/** Undefined if malformed or too precise. */
export function parseDecimal(text: string, decimals: number): bigint | undefined {
  const match = DECIMAL.exec(text)
  if (match === null) return undefined
  const fraction = match[2] ?? ''
  if (fraction.length > decimals) return undefined
  return BigInt(`${match[1]}${fraction.padEnd(decimals, '0')}`)
}

/** Rounds half up; non-negative. */
export function multiplyDivide(a: bigint, b: bigint, c: bigint): bigint {
  assert(c > 0n, 'division by zero')
  return (a * b + c / 2n) / c
}

/** Returns at most `digits` decimals; 0 when `whole` is 0. */
export function percentage(part: bigint, whole: bigint, digits = 6): number {
  if (whole === 0n) return 0
  const scale = 10n ** BigInt(digits)
  return Number(multiplyDivide(part * 100n, scale, whole)) / Number(scale)
}

/** Null where something is to be a share of nothing. */
export function shareOf(part: bigint, whole: bigint): number | null {
  return whole === 0n && part !== 0n ? null : percentage(part, whole)
}
