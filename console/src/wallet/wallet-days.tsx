import { useMemo, useState } from 'preact/hooks'
import { DAY_SECONDS } from '#base/time.ts'
import { cards } from '#data/cards.ts'
import { dayName } from '#site/chart/format.ts'
import type { Done } from '#site/wallet/wallet-figures.ts'
import { DataTable } from '../chart/data-table.tsx'
import { Plot } from '../chart/plot.tsx'
import { type Selection, SelectionContext } from '../chart/selection.ts'
import { useWords } from '../parts/file-context.ts'
import { dollars, isoDay, usd } from '../parts/format.ts'
import { sumOf } from '../register/shown-days.ts'
import type { WalletFigures } from '../state/types.ts'
import { texts } from '../texts.ts'
import { walletTexts } from '../wallet-texts.ts'

const t = walletTexts.days

/** What the wallet claimed, dug up and burned on each day, in dollars at the time. */
export function WalletDays({ done, madeUnix }: WalletFigures) {
  const [day, select] = useState<number>()
  const say = useWords()
  const selection = useMemo<Selection>(() => ({ day, select, pan: () => undefined }), [day])
  const shown = cards.flatMap(({ noun }) => {
    const own = done[noun] ?? null
    return own === null || sumOf(own.usdByDay) === 0 ? [] : [{ noun, own }]
  })
  const unpriced = shown.reduce((sum, { own }) => sum + own.unpricedCount, 0)
  if (shown.length === 0) return null
  return (
    <section class="row" aria-labelledby="days">
      <div class="margin">
        <h2 id="days">{t.title}</h2>
        <p class="note">{t.note}</p>
        {unpriced > 0 && <p class="note">{t.unpriced(unpriced)}</p>}
      </div>
      <SelectionContext.Provider value={selection}>
        <div class="body multiples">
          {shown.map(({ noun, own }) => (
            <DaysOfKind
              key={noun}
              title={say(t.names[noun] ?? noun)}
              done={own}
              {...{ day, madeUnix }}
            />
          ))}
        </div>
      </SelectionContext.Provider>
    </section>
  )
}

function DaysOfKind(props: {
  readonly title: string
  readonly done: Done
  readonly day: number | undefined
  readonly madeUnix: number
}) {
  const { title, done, day, madeUnix } = props
  const values = done.usdByDay
  const fromUnix = madeUnix - (madeUnix % DAY_SECONDS) - (values.length - 1) * DAY_SECONDS
  const unixOf = (day: number) => fromUnix + day * DAY_SECONDS
  const value = day === undefined ? sumOf(values) : (values[day] ?? null)
  const when = day === undefined ? t.inDays(values.length) : dayName(unixOf(day))
  const isPart = day === undefined && values.includes(null)
  const sum = value === null ? walletTexts.unknown : usd(value)
  const figure = isPart ? walletTexts.done.atLeast(sum) : sum
  return (
    <figure>
      <figcaption>
        <span class="t">{title}</span>
        <span class="c">{when}</span>
        <span class="v">{figure}</span>
      </figcaption>
      <Plot
        label={title}
        valueText={`${when}: ${figure}`}
        height={112}
        marks="bars"
        series={[{ tone: 'mark', values }]}
        format={dollars}
        ticksMax={3}
        days={{ fromUnix, last: dayName(unixOf(values.length - 1)) }}
      />
      <DataTable
        columns={[texts.burns.day, title]}
        rows={values
          .map((each, index) => [isoDay(unixOf(index)), each === null ? '' : usd(each)])
          .reverse()}
      />
    </figure>
  )
}
