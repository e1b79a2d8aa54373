import { QuotaLine } from '../parts/quota-line.tsx'
import { Tick } from '../parts/tick.tsx'
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
      <Tick isOn={hasRate} turn={(on) => choose({ hasRate: on })}>
        {texts.burns.rateTick}
      </Tick>
      <QuotaLine />
      <ChartLinks path="/api/burns" chart="burns" title={texts.burns.title} period={period} />
    </div>
  )
}
