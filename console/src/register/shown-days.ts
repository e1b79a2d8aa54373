import { sums } from '#serving/site/chart/geometry.ts'
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

/** The same number of days before those shown, where they are known. */
export function beforeOf(values: Days, { from, to, view }: ShownDays): Days | undefined {
  const start = from - (to - from)
  return view.isCompared && start >= 0 ? values.slice(start, from) : undefined
}

export function sumOf(values: Days): number {
  return values.reduce<number>((sum, value) => sum + (value ?? 0), 0)
}
