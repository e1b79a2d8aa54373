import { multiplyDivide } from '#lib/decimal.ts'

/** Integer millionths of a US dollar: one base unit of USDC. */
export type MicroUsd = bigint

/** US dollars per whole token, scaled by 10^18. */
export type PriceE18 = bigint

const E18 = 10n ** 18n

/** The value of `amount` base units at a price, rounded half up to a micro-USD. */
export function valueAt(amount: bigint, decimals: number, price: PriceE18): MicroUsd {
  return multiplyDivide(amount, price, 10n ** BigInt(decimals) * 10n ** 12n)
}

/** A price in `quote` units times the quote's own price in US dollars. */
export function chainPrices(inQuote: PriceE18, quoteUsd: PriceE18): PriceE18 {
  return multiplyDivide(inQuote, quoteUsd, E18)
}

/** Micro-USD as the JSON number that answers show: dollars with at most 6 decimals. */
export function toUsd(value: MicroUsd): number {
  return Number(value) / 1e6
}

/** A price as the JSON number that answers show: dollars with at most 6 decimals. */
export function toUsdPrice(price: PriceE18): number {
  return toUsd(multiplyDivide(price, 1n, 10n ** 12n))
}
