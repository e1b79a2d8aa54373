import { useEffect, useState } from 'preact/hooks'
import { getStatsHistory } from 'sexton-client'
import { DAY_SECONDS, HOUR_SECONDS } from '#lib/time.ts'
import { sexton } from '../state/session.ts'
import type { Days } from '../state/types.ts'
import { nameOfPeriod, type View } from './view.ts'

export const HOURS = 24
/** The API has no older ones. */
export const HOURS_DAYS_MAX = 90

export interface HoursInput {
  readonly isAsked: boolean
  readonly view: View
  /** Midnight of the first shown day. */
  readonly fromUnix: number
  readonly days: number
  /** Called when they are refused. */
  off(): void
}

/** The hours of a price, read once when they are first asked for: a call. Those to come are null. */
export function useHours({ isAsked, view: { period }, fromUnix, days, off }: HoursInput) {
  const [read, setRead] = useState<ReadonlyMap<number, number | null>>()
  const [readDays, setReadDays] = useState(0)
  const [failure, setFailure] = useState<unknown>()
  const isPossible = isAsked && period <= HOURS_DAYS_MAX
  const isKnown = readDays >= period
  useEffect(() => {
    if (!isPossible || isKnown) return
    setFailure(undefined)
    const query = { metric: 'price', interval: 'hour', period: nameOfPeriod(period) } as const
    getStatsHistory(sexton(), query).then(
      ({ data }) => {
        setRead(new Map(data.points.map(({ dateUnix, value }) => [dateUnix, value])))
        setReadDays(period)
      },
      (error) => {
        setFailure(error)
        off()
      },
    )
  }, [isPossible, period])
  // Days from before what was read, or a midnight after it, are drawn as days.
  const lastUnix = fromUnix + (days - 1) * DAY_SECONDS
  if (!isPossible || !isKnown || !read?.has(fromUnix) || !read.has(lastUnix))
    return { failure, values: undefined }
  const values: Days = Array.from(
    { length: days * HOURS },
    (_, hour) => read.get(fromUnix + hour * HOUR_SECONDS) ?? null,
  )
  return { failure, values }
}
