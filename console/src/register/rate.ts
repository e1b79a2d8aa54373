import { DAY_SECONDS } from '#lib/time.ts'
import { dayName } from '#serving/site/chart/format.ts'
import type { Projection } from '../chart/plot.tsx'
import type { Days } from '../state/types.ts'
import { burnedOf, type ShownDays, sumOf } from './shown-days.ts'

export const RATE_DAYS = 30
const AHEAD_DAYS_MAX = 30

export interface Rate {
  /** Mean of the full days up to each shown day; null where fewer are known. */
  readonly values: Days
  readonly now: number
}

/** Undefined where too few days are known. */
export function rateOf({ series, from, to, view }: ShownDays): Rate | undefined {
  if (!view.hasRate) return undefined
  const burned = burnedOf(series)
  // Today is not over.
  const full = burned.length - 1
  const values = burned.map((_, day) => {
    const end = Math.min(day + 1, full)
    return end < RATE_DAYS ? null : sumOf(burned.slice(end - RATE_DAYS, end)) / RATE_DAYS
  })
  const now = values.at(-1) ?? null
  return now === null ? undefined : { values: values.slice(from, to), now }
}

/** Where a figure of today leads that grows by so much a day; only while today is shown. */
export function projectionOf(
  { series, from, to }: ShownDays,
  figure: { readonly now: number; readonly perDay: number; readonly tone: string },
): Projection | undefined {
  if (to < series.days) return undefined
  const days = Math.min(AHEAD_DAYS_MAX, Math.ceil((to - from) / 6))
  const end = dayName(series.fromUnix + (to - 1 + days) * DAY_SECONDS)
  const { now, perDay, tone } = figure
  return { days, from: now, to: now + perDay * days, tone, end }
}
