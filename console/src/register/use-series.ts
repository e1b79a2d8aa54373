import { useEffect, useState } from 'preact/hooks'
import { DAY_SECONDS } from '#base/time.ts'
import type { Days, Series } from '../state/types.ts'
import type { Period } from './view.ts'

/** The snapshot has as many days. */
const SNAPSHOT_DAYS = 90

/** The snapshot's days, and those before them once a longer period is chosen. */
export function useSeries(newest: Series, period: Period) {
  const [all, setAll] = useState<Series>()
  const [failure, setFailure] = useState<unknown>()
  const isKnown = period <= SNAPSHOT_DAYS || all !== undefined
  const read = () => {
    setFailure(undefined)
    fetchAll().then(setAll, setFailure)
  }
  useEffect(() => {
    if (!isKnown) read()
  }, [isKnown])
  return {
    whole: all === undefined ? newest : withNewest(all, newest),
    isReading: !isKnown && failure === undefined,
    failure: isKnown ? undefined : failure,
    read,
  }
}

async function fetchAll(): Promise<Series> {
  const response = await fetch('/series.json')
  if (!response.ok) throw new Error((await response.json()).errorMessage)
  return response.json()
}

/** Days that were read once, and the newest ones as they are now. */
function withNewest(all: Series, newest: Series): Series {
  const older = (newest.fromUnix - all.fromUnix) / DAY_SECONDS
  if (older <= 0) return newest
  const join = (before: Days = [], after: Days) =>
    after.length === 0 ? before : [...before.slice(0, older), ...after]
  const joinEach = (
    before: Readonly<Record<string, Days>>,
    after: Readonly<Record<string, Days>>,
  ): Readonly<Record<string, Days>> =>
    Object.fromEntries(
      Object.entries(after).map(([name, days]) => [name, join(before[name], days)]),
    )
  return {
    fromUnix: all.fromUnix,
    days: older + newest.days,
    burned: joinEach(all.burned, newest.burned),
    burnedInAll: join(all.burnedInAll, newest.burnedInAll),
    metrics: joinEach(all.metrics, newest.metrics),
  }
}
