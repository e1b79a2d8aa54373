import { useMemo, useState } from 'preact/hooks'
import { type Selection, SelectionContext } from '../chart/selection.ts'
import { ProblemNote } from '../parts/problem-note.tsx'
import type { Figures } from '../state/types.ts'
import { texts } from '../texts.ts'
import { BurnChart } from './burn-chart.tsx'
import { Multiples } from './multiples.tsx'
import { PeriodBar } from './period-bar.tsx'
import { useSeries } from './use-series.ts'
import { searchOfView, type View, viewIn } from './view.ts'

export interface LedgerProps {
  readonly figures: Figures
  /** Parts that this ecosystem does not configure. */
  readonly missing: ReadonlySet<string>
}

/** Phones open at 30 days, others at 90, unless the address names a period. */
const FIRST = viewIn(location.search, matchMedia('(max-width: 620px)').matches ? 30 : 90)

/** All charts: one period and one selected day. */
export function Ledger({ figures, missing }: LedgerProps) {
  const [view, setView] = useState(FIRST)
  const [back, setBack] = useState(0)
  const [day, setDay] = useState<number>()
  const { whole, isReading, failure, read } = useSeries(figures.series, view.period)
  const days = Math.min(view.period, whole.days)
  const end = whole.days - Math.min(back, whole.days - days)
  const selection = useMemo<Selection>(
    () => ({
      day,
      select: setDay,
      pan: (by) => setBack((value) => Math.min(whole.days - days, Math.max(0, value - by))),
    }),
    [day, days, whole.days],
  )
  const shown = {
    ...{ series: whole, from: end - days, to: end, view },
    day: day === undefined ? undefined : Math.min(days - 1, day),
    symbol: figures.stats.tokens[0]?.symbol ?? '',
  }
  const choose = (change: Partial<View>) => {
    const next = { ...view, ...change }
    setBack(0)
    setDay(undefined)
    setView(next)
    history.replaceState(history.state, '', searchOfView(next))
  }
  return (
    <SelectionContext.Provider value={selection}>
      <BurnChart {...shown}>
        <PeriodBar view={view} choose={choose} />
        {isReading && <p role="status">{texts.period.reading}</p>}
        {failure !== undefined && <ProblemNote error={failure} again={read} />}
      </BurnChart>
      <Multiples {...shown} {...{ figures, missing }} />
    </SelectionContext.Provider>
  )
}
