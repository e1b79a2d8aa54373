import { QuotaLine } from '../parts/quota-line.tsx'
import { texts } from '../texts.ts'
import { ChartLinks } from './chart-links.tsx'
import { PERIODS, type Period } from './use-series.ts'

/** Of the snapshot; longer ones are calls. */
const FREE_DAYS = 90

export interface PeriodBarProps {
  readonly period: Period
  /** What a longer period costs. */
  readonly calls: number
  choose(period: Period): void
}

export function PeriodBar({ period, calls, choose }: PeriodBarProps) {
  return (
    <div class="bar">
      <fieldset class="seg">
        <legend class="vh">{texts.period.label}</legend>
        {PERIODS.map((each) => (
          <button
            key={each}
            type="button"
            aria-pressed={each === period}
            onClick={() => choose(each)}
          >
            {texts.period.names[each]}{' '}
            <small>{each > FREE_DAYS ? texts.period.cost(calls) : texts.period.free}</small>
          </button>
        ))}
      </fieldset>
      <QuotaLine />
      <ChartLinks path="/api/burns" chart="burns" period={period} />
    </div>
  )
}
