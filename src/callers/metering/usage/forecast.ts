import type { MicroUsd } from '#domain/money.ts'
import { DAY_SECONDS, lastDays } from '#lib/time.ts'

export const FORECAST_DAYS = 7

export interface Forecast {
  readonly spent: MicroUsd
  readonly perDay: MicroUsd
  readonly daysLeft: number | null
}

export function forecastSince(nowUnix: number): number {
  return lastDays(nowUnix, FORECAST_DAYS)[0] ?? nowUnix
}

/** Counts today's elapsed part only, so that mornings are right. */
export function forecastRunOut(input: {
  readonly balance: MicroUsd
  readonly spent: MicroUsd
  readonly nowUnix: number
}): Forecast {
  const { balance, spent, nowUnix } = input
  const seconds = BigInt(Math.max(1, nowUnix - forecastSince(nowUnix)))
  const perDay = (spent * BigInt(DAY_SECONDS) + seconds / 2n) / seconds
  if (spent <= 0n) return { spent, perDay, daysLeft: null }
  const hundredths = (balance * seconds * 100n) / (spent * BigInt(DAY_SECONDS))
  return { spent, perDay, daysLeft: Number(hundredths) / 100 }
}
