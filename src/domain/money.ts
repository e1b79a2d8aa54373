import { formatDecimal, multiplyDivide } from '#lib/decimal.ts'

/** One base unit of USDC. */
export type MicroUsd = bigint

/** A price per whole token, scaled by 10^`PRICE_DECIMALS`. */
export type Price = bigint

/** Leaves 10^-30 dollars 18 significant digits, even in a quote token worth 10^5. */
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
