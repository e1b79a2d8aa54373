import { QuotaLine } from '../parts/quota-line.tsx'
import { Tick } from '../parts/tick.tsx'
import { texts } from '../texts.ts'
import { ChartLinks } from './chart-links.tsx'
import { daysNeeded, PERIODS, type View } from './view.ts'

/** Of the snapshot; more are calls. */
const FREE_DAYS = 90

export interface PeriodBarProps {
  readonly view: View
  /** What more days cost. */
  readonly calls: number
  choose(change: Partial<View>): void
}

export function PeriodBar({ view, calls, choose }: PeriodBarProps) {
  const costOf = (next: View) =>
    daysNeeded(next) > FREE_DAYS ? texts.period.cost(calls) : texts.period.free
  const { period, isCompared, hasRate } = view
  return (
    <>
      <div class="bar">
        <fieldset class="seg">
          <legend class="vh">{texts.period.label}</legend>
          {PERIODS.map((each) => (
            <button
              key={each}
              type="button"
              aria-pressed={each === period}
              onClick={() => choose({ period: each })}
            >
              {texts.period.names[each]} <small>{costOf({ ...view, period: each })}</small>
            </button>
          ))}
        </fieldset>
        <QuotaLine />
        <ChartLinks path="/api/burns" chart="burns" title={texts.burns.title} period={period} />
      </div>
      <div class="bar">
        <Tick isOn={hasRate} turn={(on) => choose({ hasRate: on })}>
          {texts.burns.rateTick}
        </Tick>
        {period !== 3650 && (
          <Tick isOn={isCompared} turn={(on) => choose({ isCompared: on })}>
            {texts.burns.compareTick} <small>{costOf({ ...view, isCompared: true })}</small>
          </Tick>
        )}
      </div>
    </>
  )
}
