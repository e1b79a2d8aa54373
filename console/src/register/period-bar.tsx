import { csv } from '../parts/download.ts'
import { QuotaLine } from '../parts/quota-line.tsx'
import { texts } from '../texts.ts'
import type { Period } from './use-series.ts'

const PERIODS: readonly Period[] = [7, 30, 90, 365, 3650]

/** Of the snapshot; longer ones are calls. */
const FREE_DAYS = 90

export interface PeriodBarProps {
  readonly period: Period
  /** What a longer period costs. */
  readonly calls: number
  choose(period: Period): void
}

export function PeriodBar({ period, calls, choose }: PeriodBarProps) {
  const name = period === 3650 ? 'all' : `${period}d`
  return (
    <div class="bar">
      <fieldset class="seg">
        <legend class="vh">{texts.period.label}</legend>
        {PERIODS.map((each) => (
          <button
            key={each}
            type="button"
            aria-pressed={each === period}
            title={each > FREE_DAYS ? texts.period.cost(calls) : undefined}
            onClick={() => choose(each)}
          >
            {texts.period.names[each]}
          </button>
        ))}
      </fieldset>
      <QuotaLine />
      <div class="links">
        <button
          type="button"
          class="as-link"
          title={texts.links.csvCost}
          onClick={() => csv(`/api/burns?period=${name}&format=csv`, `burns-${name}.csv`)}
        >
          {texts.links.csv}
        </button>
        <a href={`/charts/burns.svg?period=${name}`}>{texts.links.svg}</a>
      </div>
    </div>
  )
}
