import { QuotaLine } from '../parts/quota-line.tsx'
import { texts } from '../texts.ts'
import { ChartLinks } from './chart-links.tsx'
import { PERIODS, type View } from './view.ts'

export interface PeriodBarProps {
  readonly view: View
  choose(change: Partial<View>): void
}

export function PeriodBar({ view: { period, hasRate }, choose }: PeriodBarProps) {
  return (
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
            {texts.period.names[each]}
          </button>
        ))}
      </fieldset>
      <label class="tick">
        <input
          type="checkbox"
          checked={hasRate}
          onChange={(event) => choose({ hasRate: event.currentTarget.checked })}
        />
        <span>{texts.burns.rateTick}</span>
      </label>
      <QuotaLine />
      <ChartLinks path="/api/burns" chart="burns" title={texts.burns.title} period={period} />
    </div>
  )
}
