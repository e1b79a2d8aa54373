import { useMemo, useState } from 'preact/hooks'
import { type Selection, SelectionContext } from '../chart/selection.ts'
import { ProblemNote } from '../parts/problem-note.tsx'
import type { Figures } from '../state/types.ts'
import { texts } from '../texts.ts'
import { BurnChart } from './burn-chart.tsx'
import { Multiples } from './multiples.tsx'
import { PeriodBar } from './period-bar.tsx'
import { nameOfPeriod, type Period, periodIn, useSeries } from './use-series.ts'

export interface LedgerProps {
  readonly figures: Figures
  /** Parts that this ecosystem does not configure. */
  readonly missing: ReadonlySet<string>
}

/** Phones open at 30 days, others at 90, unless the address names a period. */
const FIRST: Period =
  periodIn(location.search) ?? (matchMedia('(max-width: 620px)').matches ? 30 : 90)

/** All charts: one period and one selected day. */
export function Ledger({ figures, missing }: LedgerProps) {
  const [asked, setAsked] = useState<Period>(FIRST)
  const [back, setBack] = useState(0)
  const [day, setDay] = useState<number>()
  const { whole, shown: period, isReading, failure, read } = useSeries(figures.series, asked)
  const days = Math.min(period, whole.days)
  const end = whole.days - Math.min(back, whole.days - days)
  const selection = useMemo<Selection>(
    () => ({
      day: day === undefined ? undefined : Math.min(day, days - 1),
      select: setDay,
      pan: (by) => setBack((value) => Math.min(whole.days - days, Math.max(0, value - by))),
    }),
    [day, days, whole.days],
  )
  const shown = {
    series: whole,
    from: end - days,
    to: end,
    symbol: figures.stats.tokens[0]?.symbol ?? '',
  }
  const choose = (next: Period) => {
    setBack(0)
    setDay(undefined)
    setAsked(next)
    history.replaceState(history.state, '', `?period=${nameOfPeriod(next)}`)
  }
  const { burned, metrics } = figures.series
  const calls = Object.keys(burned).length + Object.keys(metrics).length + 1
  return (
    <SelectionContext.Provider value={selection}>
      <BurnChart {...shown} day={selection.day}>
        <PeriodBar period={period} choose={choose} calls={calls} />
        {isReading && <p role="status">{texts.period.reading}</p>}
        {failure !== undefined && <ProblemNote error={failure} again={read} />}
      </BurnChart>
      <Multiples {...shown} period={period} day={selection.day} missing={missing} />
    </SelectionContext.Provider>
  )
}
