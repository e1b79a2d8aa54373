import type { ComponentChildren } from 'preact'
import { DAY_SECONDS } from '#base/time.ts'
import { dayName } from '#site/chart/format.ts'
import { DataTable } from '../chart/data-table.tsx'
import { Plot } from '../chart/plot.tsx'
import { count, isoDay, short } from '../parts/format.ts'
import type { Days } from '../state/types.ts'
import { texts } from '../texts.ts'
import { burnedOf, RATE_DAYS, rateOf, type ShownDays } from './shown-days.ts'

const t = texts.burns

/** The running total above, days stacked by chain below; they share their days and never a scale. */
export function BurnChart({
  children,
  ...shown
}: ShownDays & { readonly children: ComponentChildren }) {
  const { series, from, to, symbol, day } = shown
  const chains = Object.entries(series.burned).map(([name, values], index) => ({
    name,
    tone: `chain-${index % 4}`,
    values: values.slice(from, to),
  }))
  const inAll = series.burnedInAll.slice(from, to)
  const at = day ?? inAll.length - 1
  const unixOf = (index: number) => series.fromUnix + (from + index) * DAY_SECONDS
  const name = dayName(unixOf(at), true)
  const burned = burnedOf(series)
  const inDay = burned[from + at] ?? 0
  const rate = rateOf(shown)
  const last = to === series.days ? 'today' : dayName(unixOf(inAll.length - 1))
  return (
    <section class="row" aria-labelledby="per-day">
      <div class="margin">
        <h2 id="per-day">{t.title}</h2>
        <p class="note">{t.days}</p>
        <p class="note">{t.keys}</p>
      </div>
      <div class="body">
        {children}
        <Readout
          title={from + at === series.days - 1 ? t.soFar(name) : name}
          isLive={day !== undefined}
          chains={chains.map((each) => ({ ...each, value: each.values[at] ?? 0 }))}
          inDay={inDay}
          inAll={inAll[at] ?? 0}
          rate={rate?.[at] ?? null}
        />
        <Plot
          label={t.inAll}
          valueText={`${name}: ${count(inAll[at] ?? 0)}`}
          height={84}
          marks="area"
          series={[{ tone: 'rubric', values: inAll }]}
          format={short}
          ticksMax={2}
        />
        <p class="note axis">{t.aDay(symbol)}</p>
        <Plot
          valueText={`${name}: ${count(inDay)}`}
          label={t.label}
          height={240}
          marks="bars"
          series={chains}
          format={short}
          days={{ fromUnix: unixOf(0), last }}
          rate={rate}
        />
        <DayTable {...shown} burned={burned} />
      </div>
    </section>
  )
}

function DayTable({ series, from, to, burned }: ShownDays & { readonly burned: Days }) {
  const { fromUnix, burnedInAll, ...rest } = series
  const chains = Object.entries(rest.burned)
  const days = Array.from({ length: to - from }, (_, index) => to - 1 - index)
  return (
    <DataTable
      columns={[t.day, ...chains.map(([name]) => name), t.total, t.inAll]}
      rows={days.map((day) => [
        isoDay(fromUnix + day * DAY_SECONDS),
        ...chains.map(([, values]) => count(values[day] ?? 0)),
        count(burned[day] ?? 0),
        count(burnedInAll[day] ?? 0),
      ])}
    />
  )
}

/** The legend and the figures of one day. */
function Readout(props: {
  readonly title: string
  /** Told aloud only while a day is selected. */
  readonly isLive: boolean
  readonly chains: readonly {
    readonly name: string
    readonly tone: string
    readonly value: number
  }[]
  readonly inDay: number
  readonly inAll: number
  readonly rate: number | null
}) {
  const { title, isLive, chains, inDay, inAll, rate } = props
  return (
    <p class="read" translate={false} aria-live={isLive ? 'polite' : 'off'}>
      <b>{title}</b>
      {chains.map(({ name, tone, value }) => (
        <span key={name}>
          <i class={`dot ${tone}`} />
          {name} <b>{count(value)}</b>
        </span>
      ))}
      <span>
        {t.day} <b>{count(inDay)}</b>
      </span>
      <span>
        <i class="dash rubric" />
        {t.inAll} <b>{count(inAll)}</b>
      </span>
      {rate !== null && (
        <span>
          <i class="dash ink" /> {t.rate(RATE_DAYS)} <b>{count(rate)}</b>
        </span>
      )}
    </p>
  )
}
