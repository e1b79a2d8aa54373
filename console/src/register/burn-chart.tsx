import type { ComponentChildren } from 'preact'
import { dayName } from '#serving/site/chart/format.ts'
import { DataTable } from '../chart/data-table.tsx'
import { Plot } from '../chart/plot.tsx'
import { count, short } from '../parts/format.ts'
import type { Series } from '../state/types.ts'
import { texts } from '../texts.ts'

const DAY_SECONDS = 86_400
const t = texts.burns

export interface ShownDays {
  readonly series: Series
  /** Days shown: from this index to before that one. */
  readonly from: number
  readonly to: number
  readonly symbol: string
  /** Selected, counted from `from`. */
  readonly day: number | undefined
}

/** The running total above, days stacked by chain below; they share their days and never a scale. */
export function BurnChart(props: ShownDays & { readonly children: ComponentChildren }) {
  const { series, from, to, symbol, day, children } = props
  const chains = Object.entries(series.burned).map(([name, values], index) => ({
    name,
    tone: `chain-${index % 4}`,
    values: values.slice(from, to),
  }))
  const inAll = series.burnedInAll.slice(from, to)
  const at = day ?? inAll.length - 1
  const isToday = from + at === series.days - 1
  const unixOf = (index: number) => series.fromUnix + (from + index) * DAY_SECONDS
  const name = dayName(unixOf(at), true)
  const sumOf = (index: number) => chains.reduce((sum, { values }) => sum + (values[index] ?? 0), 0)
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
          title={isToday ? t.soFar(name) : name}
          isLive={day !== undefined}
          chains={chains.map((each) => ({ ...each, value: each.values[at] ?? 0 }))}
          inDay={sumOf(at)}
          inAll={inAll[at] ?? 0}
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
          valueText={`${name}: ${count(sumOf(at))}`}
          label={t.label}
          height={240}
          marks="bars"
          series={chains}
          format={short}
          days={{ fromUnix: unixOf(0), last }}
        />
        <DataTable
          columns={[t.day, ...chains.map((each) => each.name), t.total, t.inAll]}
          rows={inAll
            .map((total, index) => [
              new Date(unixOf(index) * 1000).toISOString().slice(0, 10),
              ...chains.map(({ values }) => count(values[index] ?? 0)),
              count(sumOf(index)),
              count(total ?? 0),
            ])
            .reverse()}
        />
      </div>
    </section>
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
}) {
  const { title, isLive, chains, inDay, inAll } = props
  return (
    <p class="read" aria-live={isLive ? 'polite' : 'off'}>
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
    </p>
  )
}
