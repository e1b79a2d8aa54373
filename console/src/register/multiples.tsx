import { cards } from '#chains/kinds/cards.ts'
import { dayName } from '#serving/site/chart/format.ts'
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

/** How a figure is shown on the scale, and alone. */
const FORMATS = {
  token: { scale: short, big: count, isWhole: false },
  count: { scale: short, big: count, isWhole: true },
  usd: { scale: dollars, big: usd, isWhole: false },
}

interface Metric {
  readonly metric: string
  /** In the address of the picture. */
  readonly name: string
  readonly title: string
  readonly marks: 'line' | 'bars'
  readonly scale: (value: number) => string
  readonly big: (value: number) => string
  readonly isWhole: boolean
  /** What must be configured for it. */
  readonly part?: string
}

const { names } = t

const METRICS: readonly Metric[] = [
  { metric: 'supply', name: 'supply', title: names.supply, marks: 'line', ...FORMATS.token },
  { metric: 'holders', name: 'holders', title: names.holders, marks: 'line', ...FORMATS.count },
  {
    ...{ metric: 'price', name: 'price', title: names.price, marks: 'line' },
    ...FORMATS.usd,
    big: price,
  },
  {
    metric: 'marketCap',
    name: 'market-cap',
    title: names.marketCap,
    marks: 'line',
    ...FORMATS.usd,
  },
  ...cards.flatMap(({ part, charts }) =>
    charts
      .filter((each) => each.isOnPage)
      .map((each) => ({ ...each, part, ...FORMATS[each.unit] })),
  ),
]

export interface MultiplesProps extends ShownDays {
  readonly period: Period
  readonly missing: ReadonlySet<string>
}

export function Multiples(props: MultiplesProps) {
  const shown = METRICS.filter(({ part }) => part === undefined || !props.missing.has(part))
  return (
    <section class="row" aria-labelledby="ledger">
      <div class="margin">
        <h2 id="ledger">{t.title}</h2>
        <p class="note">{t.foot}</p>
        <p class="note">{t.point}</p>
      </div>
      <div class="body multiples">
        {shown.map((metric) => (
          <Multiple key={metric.metric} {...props} metric={metric} />
        ))}
      </div>
    </section>
  )
}

function Multiple(props: MultiplesProps & { readonly metric: Metric }) {
  const { series, from, to, day, metric, period } = props
  const values = sinceFirst(series.metrics[metric.metric] ?? [], metric.marks).slice(from, to)
  const at = day ?? values.length - 1
  const value = values[at] ?? null
  const unixOf = (index: number) => series.fromUnix + (from + index) * DAY_SECONDS
  const isKnown = values.some((each) => each !== null)
  return (
    <figure>
      <figcaption>
        <span class="t">{metric.title}</span>
        <span class="c">
          {day === undefined ? noteOf(metric.marks, values) : dayName(unixOf(at))}
        </span>
        <span class="v">{value === null ? '—' : metric.big(value)}</span>
      </figcaption>
      {isKnown ? (
        <Plot
          label={metric.title}
          valueText={`${dayName(unixOf(at), true)}: ${value === null ? '—' : metric.big(value)}`}
          height={112}
          marks={metric.marks}
          series={[{ tone: 'mark', values }]}
          format={metric.scale}
          isWhole={metric.isWhole}
          ticksMax={3}
        />
      ) : (
        <p class="none">
          {metric.metric === 'price' || metric.metric === 'marketCap' ? t.noPrice : t.none}
        </p>
      )}
      <ChartLinks
        path="/api/stats/history"
        metric={metric.metric}
        chart={metric.name}
        period={period}
      />
      {isKnown && (
        <DataTable
          columns={[texts.burns.day, metric.title]}
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
