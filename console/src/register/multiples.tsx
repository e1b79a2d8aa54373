import { dayName } from '#site/chart/format.ts'
import { DataTable } from '../chart/data-table.tsx'
import { Plot } from '../chart/plot.tsx'
import { count, dollars, percent, price, short, usd } from '../parts/format.ts'
import type { Days } from '../state/types.ts'
import { texts } from '../texts.ts'
import type { ShownDays } from './burn-chart.tsx'
import { ChartLinks } from './chart-links.tsx'
import type { Period } from './use-series.ts'

const DAY_SECONDS = 86_400
const t = texts.ledger

type Name = keyof typeof t.names

/** `part`: what must be configured for it. */
const METRICS = [
  { name: 'supply', chart: 'supply', marks: 'line', scale: short, big: count },
  { name: 'holders', chart: 'holders', marks: 'line', scale: short, big: count },
  { name: 'price', chart: 'price', marks: 'line', scale: dollars, big: price },
  { name: 'marketCap', chart: 'market-cap', marks: 'line', scale: dollars, big: usd },
  {
    name: 'dividends',
    chart: 'dividends',
    marks: 'bars',
    scale: dollars,
    big: usd,
    part: 'dividends',
  },
  {
    name: 'graveDigs',
    chart: 'grave-digs',
    marks: 'bars',
    scale: short,
    big: count,
    part: 'graveDigs',
  },
] as const satisfies readonly {
  readonly name: Name
  /** In the address of the picture. */
  readonly chart: string
  readonly marks: 'line' | 'bars'
  readonly scale: (value: number) => string
  readonly big: (value: number) => string
  readonly part?: string
}[]

export interface MultiplesProps extends ShownDays {
  readonly period: Period
  readonly missing: ReadonlySet<string>
}

export function Multiples(props: MultiplesProps) {
  const shown = METRICS.filter((metric) => !('part' in metric) || !props.missing.has(metric.part))
  return (
    <section class="row" aria-labelledby="ledger">
      <div class="margin">
        <h2 id="ledger">{t.title}</h2>
        <p class="note">{t.foot}</p>
        <p class="note">{t.point}</p>
      </div>
      <div class="body multiples">
        {shown.map((metric) => (
          <Multiple key={metric.name} {...props} metric={metric} />
        ))}
      </div>
    </section>
  )
}

function Multiple(props: MultiplesProps & { readonly metric: (typeof METRICS)[number] }) {
  const { series, from, to, day, metric, period } = props
  const values = sinceFirst(series.metrics[metric.name] ?? [], metric.marks).slice(from, to)
  const at = day ?? values.length - 1
  const value = values[at] ?? null
  const unixOf = (index: number) => series.fromUnix + (from + index) * DAY_SECONDS
  const isKnown = values.some((each) => each !== null)
  return (
    <figure>
      <figcaption>
        <span class="t">{t.names[metric.name]}</span>
        <span class="c">
          {day === undefined ? noteOf(metric.marks, values) : dayName(unixOf(at))}
        </span>
        <span class="v">{value === null ? '—' : metric.big(value)}</span>
      </figcaption>
      {isKnown ? (
        <Plot
          label={t.names[metric.name]}
          valueText={`${dayName(unixOf(at), true)}: ${value === null ? '—' : metric.big(value)}`}
          height={112}
          marks={metric.marks}
          series={[{ tone: 'mark', values }]}
          format={metric.scale}
          ticksMax={3}
        />
      ) : (
        <p class="none">
          {metric.name === 'price' || metric.name === 'marketCap' ? t.noPrice : t.none}
        </p>
      )}
      <ChartLinks
        path="/api/stats/history"
        metric={metric.name}
        chart={metric.chart}
        period={period}
      />
      {isKnown && (
        <DataTable
          columns={[texts.burns.day, t.names[metric.name]]}
          rows={values
            .map((each, index) => [
              new Date(unixOf(index) * 1000).toISOString().slice(0, 10),
              each === null ? '' : metric.big(each),
            ])
            .reverse()}
        />
      )}
    </figure>
  )
}

/** A line begins with its first figure, not with the zeros before it. */
function sinceFirst(values: Days, marks: 'line' | 'bars'): Days {
  if (marks === 'bars') return values
  const first = values.findIndex((value) => value !== null && value !== 0)
  return values.map((value, index) => (index < first ? null : value))
}

/** Stocks say how they changed; flows say that today is not over. */
function noteOf(marks: 'line' | 'bars', values: readonly (number | null)[]): string {
  if (marks === 'bars') return t.today
  const first = values.find((value) => value !== null)
  const last = values.findLast((value) => value !== null)
  if (!first || last === undefined || last === null) return ''
  const change = (last / first - 1) * 100
  return t.change(`${change > 0 ? '+' : ''}${percent(change)}`, values.length)
}
