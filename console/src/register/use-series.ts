import { useEffect, useState } from 'preact/hooks'
import { getDailyBurns, getStatsHistory } from 'sexton-client'
import { sexton } from '../state/session.ts'
import type { Days, Series } from '../state/types.ts'

/** Days; 3650 stands for all. */
export type Period = 7 | 30 | 90 | 365 | 3650

/** The snapshot's days, or those of a longer period, which cost the person's calls once. */
export function useSeries(snapshot: Series, period: Period) {
  const [longer, setLonger] = useState<{ readonly period: Period; readonly series: Series }>()
  const [failure, setFailure] = useState<unknown>()
  const [turn, setTurn] = useState(0)
  const isShort = period <= snapshot.days
  const isKnown = isShort || (longer !== undefined && longer.period >= period)
  useEffect(() => {
    if (isKnown) return
    let isWanted = true
    readSeries(snapshot, period).then(
      (series) => isWanted && setLonger({ period, series }),
      (error) => isWanted && setFailure(error),
    )
    return () => {
      isWanted = false
    }
  }, [period, isKnown, turn])
  return {
    whole: isShort || longer === undefined ? snapshot : longer.series,
    failure: isKnown ? undefined : failure,
    forget() {
      setFailure(undefined)
      setTurn((value) => value + 1)
    },
  }
}

async function readSeries({ burned, metrics }: Series, period: Period): Promise<Series> {
  const client = sexton()
  const query = { period: period === 3650 ? 'all' : `${period}d` }
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
