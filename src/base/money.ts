import assert from 'node:assert/strict'

/** One base unit of USDC. */
export type MicroUsd = bigint

/** A price per whole token, scaled by 10^`PRICE_DECIMALS`. */
export type Price = bigint

/** Keeps 18 significant digits of a price of 10^-30 dollars, even in a quote token worth 10^5. */
export const PRICE_DECIMALS = 54

export const PRICE_ONE: Price = 10n ** BigInt(PRICE_DECIMALS)

const PER_MICRO_USD = PRICE_ONE / 1_000_000n

/** Rounds half up. */
export function valueAt(amount: bigint, decimals: number, price: Price): MicroUsd {
  return multiplyDivide(amount, price, 10n ** BigInt(decimals) * PER_MICRO_USD)
}

export function chainPrices(inQuote: Price, quoteUsd: Price): Price {
  return multiplyDivide(inQuote, quoteUsd, PRICE_ONE)
}

/** Returns the nearest number, with at most 6 decimals. */
export function toUsd(value: MicroUsd): number {
  return Number(formatDecimal(value, 6))
}

export function toUsdPrice(price: Price): number {
  return Number(formatDecimal(price, PRICE_DECIMALS))
}

/** Keeps 18 significant digits, rounded half up. */
export function toUsdPriceExact(price: Price): string {
  return formatDecimal(toSignificant(price), PRICE_DECIMALS)
}

export function toValueExact(amount: bigint, decimals: number, price: Price): string {
  return toUsdPriceExact(multiplyDivide(amount, price, 10n ** BigInt(decimals)))
}

const SIGNIFICANT_DIGITS = 18

function toSignificant(value: bigint): bigint {
  const more = value.toString().length - SIGNIFICANT_DIGITS
  if (more <= 0) return value
  const unit = 10n ** BigInt(more)
  return multiplyDivide(value, 1n, unit) * unit
}

const DECIMAL = /^(0|[1-9][0-9]*)(?:\.([0-9]+))?$/

/** Writes no exponent and no trailing zeros. */
export function formatDecimal(raw: bigint, decimals: number): string {
  const sign = raw < 0n ? '-' : ''
  const digits = (raw < 0n ? -raw : raw).toString().padStart(decimals + 1, '0')
  const whole = digits.slice(0, digits.length - decimals)
  const fraction = digits.slice(digits.length - decimals).replace(/0+$/, '')
  return sign + (fraction === '' ? whole : `${whole}.${fraction}`)
}

/** Returns undefined if malformed or too precise. */
export function parseDecimal(text: string, decimals: number): bigint | undefined {
  const match = DECIMAL.exec(text)
  if (match === null) return undefined
  const fraction = match[2] ?? ''
  if (fraction.length > decimals) return undefined
  return BigInt(`${match[1]}${fraction.padEnd(decimals, '0')}`)
}

/** Rounds half up; arguments must not be negative. */
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

/** Returns null if the whole is 0 but the part is not. */
export function toShare(part: bigint, whole: bigint): number | null {
  return whole === 0n && part !== 0n ? null : percentage(part, whole)
}

export function lesser(a: bigint, b: bigint): bigint {
  return a < b ? a : b
}

export function greater(a: bigint, b: bigint): bigint {
  return a > b ? a : b
}
