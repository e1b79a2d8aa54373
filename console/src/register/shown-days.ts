import { sums } from '#site/chart/geometry.ts'
import type { Days, Series } from '../state/types.ts'
import type { View } from './view.ts'

export interface ShownDays {
  readonly series: Series
  /** Days shown: from this index to before that one. */
  readonly from: number
  readonly to: number
  readonly symbol: string
  readonly view: View
  /** Selected, counted from `from`. */
  readonly day: number | undefined
}

/** What was burned each day on all chains. */
export function burnedOf({ burned }: Series): readonly number[] {
  return sums(Object.values(burned))
}

export function sumOf(values: Days): number {
  return values.reduce<number>((sum, value) => sum + (value ?? 0), 0)
}

export const RATE_DAYS = 30

/** Mean of the full days up to each shown day, null where fewer are known; undefined where all are. */
export function rateOf({ series, from, to, view }: ShownDays): Days | undefined {
  if (!view.hasRate) return undefined
  const burned = burnedOf(series)
  // Today is not over.
  const full = burned.length - 1
  const means = burned.map((_, day) => {
    const end = Math.min(day + 1, full)
    return end < RATE_DAYS ? null : sumOf(burned.slice(end - RATE_DAYS, end)) / RATE_DAYS
  })
  return means.at(-1) == null ? undefined : means.slice(from, to)
}
