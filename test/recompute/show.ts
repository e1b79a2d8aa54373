import { formatUnits } from 'viem'
import { type Ticker, tokenOf } from './local-tokens.ts'
import { PRICE_DECIMALS } from './price-scale.ts'
import type { Place } from './read-events.ts'
import { halfUp, priceAt, priceBefore, type WorldAt } from './world-at.ts'

/** Wire forms, written a second time: token amounts, dollars, shares, days. */

export const DAY = 86_400

export function units(amount: bigint, token: Ticker): string {
  return formatUnits(amount, tokenOf(token).decimals)
}

/** `{<name>, <name>Raw}` */
export function pair(name: string, amount: bigint, token: Ticker): Record<string, string> {
  return { [name]: units(amount, token), [`${name}Raw`]: String(amount) }
}

/** An event that has an amount of a token. */
export type Amount = Place & { readonly token: Ticker; readonly amount: bigint }

/** Micro-dollars of an amount at a moment, rounded half up; null before the first price. */
export function microUsd(world: WorldAt, token: Ticker, amount: bigint, unix: number) {
  return microValue(token, amount, priceAt(world, token, unix))
}

/** Micro-dollars of an event's amount at its own time. */
export function microUsdThen(world: WorldAt, event: Amount): bigint | null {
  return microValue(event.token, event.amount, priceBefore(world, event.token, event))
}

function microValue(token: Ticker, amount: bigint, price: bigint | null): bigint | null {
  return price === null
    ? null
    : halfUp(amount * price, 10n ** BigInt(tokenOf(token).decimals + PRICE_DECIMALS - 6))
}

/** A price or value with 18 significant digits. */
export function exactUsd(price: bigint): string {
  const digits = String(price).length
  const unit = 10n ** BigInt(Math.max(0, digits - 18))
  return formatUnits(halfUp(price, unit) * unit, PRICE_DECIMALS)
}

export function dollars(micro: bigint | null): number | null {
  return micro === null ? null : Number(micro) / 1e6
}

/** Adds micro-dollars; null when there are some and none is known. */
export function addMicro(values: readonly (bigint | null)[]): bigint | null {
  const known = values.filter((value) => value !== null)
  return known.length === 0 && values.length > 0 ? null : sum(known)
}

export function sum(values: readonly bigint[]): bigint {
  return values.reduce((total, value) => total + value, 0n)
}

/** Percent with six decimals, rounded half up. */
export function percent(part: bigint, whole: bigint): number {
  if (whole === 0n) return 0
  const size = part < 0n ? -part : part
  const share = Number(halfUp(size * 100_000_000n, whole)) / 1e6
  return part < 0n ? -share : share
}

function dayOf(unix: number): number {
  return Math.floor(unix / DAY) * DAY
}

export function isoOf(unix: number): string {
  return new Date(unix * 1000).toISOString().replace('.000Z', 'Z')
}

/** The days of a period that ends with the day of `asOfUnix`, oldest first. */
export function daysOf(asOfUnix: number, period: string, firstUnix: number | undefined): number[] {
  const today = dayOf(asOfUnix)
  const since =
    period === 'all'
      ? dayOf(firstUnix ?? asOfUnix)
      : today - (Number.parseInt(period, 10) - 1) * DAY
  return Array.from({ length: (today - since) / DAY + 1 }, (_, index) => since + index * DAY)
}

export function dayMembers(world: WorldAt, dateUnix: number) {
  const complete = dateUnix !== dayOf(world.asOfUnix)
  return { day: { date: isoOf(dateUnix).slice(0, 10), dateUnix }, complete }
}
