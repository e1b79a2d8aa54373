import { DAY_SECONDS } from '#base/time.ts'
import { cards } from '#data/cards.ts'
import { dayName } from '#site/chart/format.ts'
import { firstKnown } from '#site/chart/geometry.ts'
import { DataTable } from '../chart/data-table.tsx'
import { Plot } from '../chart/plot.tsx'
import { useWords } from '../parts/file-context.ts'
import { changeOf, count, dollars, isoDay, price, short, usd } from '../parts/format.ts'
import { whyNoPrice, whyUnknown } from '../parts/reason.ts'
import type { Days, Figures } from '../state/types.ts'
import { texts } from '../texts.ts'
import { ChartLinks } from './chart-links.tsx'
import type { ShownDays } from './shown-days.ts'

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
  readonly scale: (value: number, digits?: number) => string
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
  readonly figures: Figures
  readonly missing: ReadonlySet<string>
}

const PRICED = ['price', 'marketCap']

export function Multiples(props: MultiplesProps) {
  const say = useWords()
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
          <Multiple
            key={metric.metric}
            {...props}
            metric={{ ...metric, title: say(metric.title) }}
          />
        ))}
      </div>
    </section>
  )
}

type MultipleProps = MultiplesProps & { readonly metric: Metric }

function Multiple(props: MultipleProps) {
  const { series, from, to, day, metric, view } = props
  const { title, marks, big } = metric
  const values = sinceFirst(series.metrics[metric.metric] ?? [], marks).slice(from, to)
  const unixOf = (index: number) => series.fromUnix + (from + index) * DAY_SECONDS
  const shown = day ?? values.length - 1
  const value = values[shown] ?? null
  const figure = value === null ? '—' : big(value)
  const last = to === series.days ? 'today' : dayName(unixOf(values.length - 1))
  const isKnown = values.some((each) => each !== null)
  return (
    <figure>
      <figcaption>
        <span class="t">{title}</span>
        <span class="c" translate={false}>
          {day === undefined ? noteOf(marks, values) : dayName(unixOf(shown))}
        </span>
        <span class="v" translate={false}>
          {figure}
        </span>
      </figcaption>
      {isKnown ? (
        <Plot
          label={title}
          valueText={`${dayName(unixOf(shown), true)}: ${figure}`}
          height={112}
          marks={marks}
          series={[{ tone: 'mark', values }]}
          format={metric.scale}
          isWhole={metric.isWhole}
          ticksMax={3}
          days={{ fromUnix: unixOf(0), last }}
        />
      ) : (
        <p class="none">{whyNone(props)}</p>
      )}
      <ChartLinks
        path="/api/stats/history"
        metric={metric.metric}
        chart={metric.name}
        title={title}
        period={view.period}
      />
      {isKnown && (
        <DataTable
          columns={[texts.burns.day, title]}
          rows={values
            .map((each, index) => [isoDay(unixOf(index)), each === null ? '' : big(each)])
            .reverse()}
        />
      )}
    </figure>
  )
}

function whyNone({ metric, figures, symbol }: MultipleProps): string {
  if (metric.part !== undefined) return t.none
  return PRICED.includes(metric.metric)
    ? whyNoPrice(figures, symbol)
    : whyUnknown(figures.meta, symbol)
}

/** A line begins with its first figure, not with the zeros before it. */
function sinceFirst(values: Days, marks: 'line' | 'bars'): Days {
  if (marks === 'bars') return values
  const first = firstKnown([values])
  return values.map((value, index) => (index < first ? null : value))
}

/** Stocks say how they changed; flows say that today is not over. */
function noteOf(marks: 'line' | 'bars', values: Days): string {
  if (marks === 'bars') return t.today
  const first = values.find((value) => value !== null)
  const last = values.findLast((value) => value !== null)
  return !first || last == null ? '' : t.change(changeOf(last, first), values.length)
}
