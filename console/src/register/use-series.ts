import { useEffect, useRef, useState } from 'preact/hooks'
import { getDailyBurns, getStatsHistory } from 'sexton-client'
import { DAY_SECONDS } from '#lib/time.ts'
import { sexton } from '../state/session.ts'
import type { Days, Series } from '../state/types.ts'
import { daysNeeded, type View } from './view.ts'

/** What of a view decides which days must be known. */
export type Span = Pick<View, 'period' | 'isCompared'>

/**
 * The snapshot's days, or those of a longer period, which cost the person's calls once. A period that was
 * refused is not shown: `shown` stays the one before.
 */
export function useSeries(snapshot: Series, asked: Span) {
  const [longer, setLonger] = useState<{ readonly days: number; readonly series: Series }>()
  const [failure, setFailure] = useState<unknown>()
  const [shown, setShown] = useState(asked)
  const reading = useRef(0)
  const needed = daysNeeded(asked)
  const isKnown = needed <= snapshot.days || (longer !== undefined && longer.days >= needed)
  const read = async () => {
    setFailure(undefined)
    // What is under way has been paid for.
    if (reading.current >= needed) return
    reading.current = needed
    try {
      const series = await readSeries(snapshot, needed)
      setLonger((known) => (known && known.days > needed ? known : { days: needed, series }))
    } catch (error) {
      setFailure(error)
    }
    reading.current = 0
  }
  useEffect(() => {
    if (isKnown) setShown(asked)
    else read()
  }, [asked.period, asked.isCompared, isKnown])
  return {
    whole:
      daysNeeded(shown) <= snapshot.days || longer === undefined
        ? snapshot
        : withNewest(longer.series, snapshot),
    shown: isKnown ? asked : shown,
    isReading: !isKnown && failure === undefined,
    failure: isKnown ? undefined : failure,
    read,
  }
}

/** Days that were read once, and the newest ones as they are now. */
export function withNewest(longer: Series, newest: Series): Series {
  const older = (newest.fromUnix - longer.fromUnix) / DAY_SECONDS
  if (older <= 0) return newest
  const join = (before: Days = [], after: Days = []) => [...fitStart(before, older), ...after]
  const each = (
    before: Readonly<Record<string, Days>>,
    after: Readonly<Record<string, Days>>,
  ): Readonly<Record<string, Days>> =>
    Object.fromEntries(
      Object.entries(after).map(([name, days]) => [name, join(before[name], days)]),
    )
  return {
    fromUnix: longer.fromUnix,
    days: older + newest.days,
    burned: each(longer.burned, newest.burned),
    burnedInAll: join(longer.burnedInAll, newest.burnedInAll),
    metrics: each(longer.metrics, newest.metrics),
  }
}

/** So many of the first days. */
function fitStart(values: Days, days: number): Days {
  return Array.from({ length: days }, (_, index) => values[index] ?? null)
}

async function readSeries({ burned, metrics }: Series, needed: number): Promise<Series> {
  const client = sexton()
  const query = { period: needed === 3650 ? 'all' : `${needed}d` }
  const chains = Object.keys(burned)
  const [inAll, ...byChain] = await Promise.all(
    ['all', ...chains].map(
      async (chain) => (await getDailyBurns(client, { ...query, chain })).data,
    ),
  )
  const names = Object.keys(metrics).filter((name) => (metrics[name]?.length ?? 0) > 0)
  const histories = await Promise.all(
    names.map(async (metric) => {
      const { data } = await getStatsHistory(client, { ...query, metric: metric as 'supply' })
      return data.points.map(({ value }) => value)
    }),
  )
  const days = inAll?.length ?? 0
  return {
    fromUnix: inAll?.[0]?.dateUnix ?? 0,
    days,
    burned: Object.fromEntries(
      chains.map((chain, index) => [
        chain,
        fit(
          (byChain[index] ?? []).map((day) => Number(day.burned)),
          days,
        ),
      ]),
    ),
    burnedInAll: (inAll ?? []).map((day) => Number(day.cumulative)),
    metrics: Object.fromEntries(
      names.map((name, index) => [name, fit(histories[index] ?? [], days)]),
    ),
  }
}

/** Histories of `all` begin where each has its first figure; they end today alike. */
function fit(values: Days, days: number): Days {
  if (values.length >= days) return values.slice(values.length - days)
  return [...new Array<null>(days - values.length).fill(null), ...values]
}
