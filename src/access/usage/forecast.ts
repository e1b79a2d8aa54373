import type { MicroUsd } from '#domain/money.ts'
import { DAY_SECONDS, lastDays } from '#lib/time.ts'

/** A week, so that a quiet Sunday and a busy Monday weigh what they do in life. */
export const FORECAST_DAYS = 7

/** How long a balance lasts at the pace of the last days. */
export interface Forecast {
  /** What was spent since the beginning of the first of the days. */
  readonly spent: MicroUsd
  readonly perDay: MicroUsd
  /** Null when nothing was spent. */
  readonly daysLeft: number | null
}

/** The first of the UTC days whose spending a forecast goes by; today is the last. */
export function forecastSince(nowUnix: number): number {
  return lastDays(nowUnix, FORECAST_DAYS)[0] ?? nowUnix
}

/** Today counts as far as it has come, so that the pace is right in the morning too. */
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
