import { useContext } from 'preact/hooks'
import { cards } from '#chains/kinds/cards.ts'
import { DAY_SECONDS, HOUR_SECONDS } from '#lib/time.ts'
import { dayName } from '#serving/site/chart/format.ts'
import { firstKnown } from '#serving/site/chart/geometry.ts'
import { DataTable } from '../chart/data-table.tsx'
import { Plot } from '../chart/plot.tsx'
import { lastStep, SelectionContext, stepAt } from '../chart/selection.ts'
import { useWords } from '../parts/file-context.ts'
import { changeOf, clock, count, dollars, price, short, usd } from '../parts/format.ts'
import { ProblemNote } from '../parts/problem-note.tsx'
import { whyNoPrice, whyUnknown } from '../parts/reason.ts'
import { Tick } from '../parts/tick.tsx'
import type { Days, Figures } from '../state/types.ts'
import { texts } from '../texts.ts'
import { ChartLinks } from './chart-links.tsx'
import type { ShownDays } from './shown-days.ts'
import { HOURS, HOURS_DAYS_MAX, useHours } from './use-hours.ts'
import type { View } from './view.ts'

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
  choose(change: Partial<View>): void
}

/** Those that may span powers of ten. */
const LOGS = ['price', 'marketCap']

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

/** The values of a metric, and the one that is pointed at. */
function useMetric(props: MultipleProps) {
  const { series, from, to, day, metric, view, choose } = props
  const values = sinceFirst(series.metrics[metric.metric] ?? [], metric.marks).slice(from, to)
  const fromUnix = series.fromUnix + from * DAY_SECONDS
  const { values: hours, failure } = useHours({
    isAsked: view.isByHour && metric.metric === 'price',
    ...{ view, fromUnix, days: to - from },
    off: () => choose({ isByHour: false }),
  })
  const { at } = useContext(SelectionContext)
  const hour = hours && at !== undefined ? stepAt(at, { values: hours, perDay: HOURS }) : undefined
  const shownDay = day ?? values.length - 1
  return {
    ...{ values, fromUnix, hours, failure },
    value: (hour === undefined ? values[shownDay] : hours?.[hour]) ?? null,
    unix: fromUnix + shownDay * DAY_SECONDS,
    time: hour === undefined ? '' : `, ${clock(fromUnix + hour * HOUR_SECONDS)}`,
  }
}

function Multiple(props: MultipleProps) {
  const { series, to, day, metric, view } = props
  const { values, fromUnix, hours, failure, value, unix, time } = useMetric(props)
  const isLog = view.isLog && LOGS.includes(metric.metric)
  const isKnown = values.some((each) => each !== null)
  return (
    <figure>
      <figcaption>
        <span class="t">{metric.title}</span>
        <span class="c" translate={false}>
          {day === undefined ? noteOf(metric.marks, values) : dayName(unix) + time}
        </span>
        <span class="v" translate={false}>
          {value === null ? '—' : metric.big(value)}
        </span>
      </figcaption>
      {failure !== undefined && <ProblemNote error={failure} />}
      {isKnown ? (
        <Plot
          label={metric.title}
          valueText={`${dayName(unix, true)}${time}: ${value === null ? '—' : metric.big(value)}`}
          height={112}
          marks={metric.marks}
          series={[{ tone: 'mark', values: hours ?? values }]}
          perDay={hours === undefined ? 1 : HOURS}
          isLog={isLog}
          format={metric.scale}
          isWhole={metric.isWhole}
          ticksMax={3}
          days={{
            fromUnix,
            last:
              to === series.days ? 'today' : dayName(fromUnix + (values.length - 1) * DAY_SECONDS),
          }}
        />
      ) : (
        <p class="none">{whyNone(props)}</p>
      )}
      {LOGS.includes(metric.metric) && isKnown && <Ticks {...props} />}
      <ChartLinks
        path="/api/stats/history"
        metric={metric.metric}
        chart={metric.name}
        title={metric.title}
        period={view.period}
      />
      {isKnown && (
        <DataTable
          columns={[hours ? t.hour : texts.burns.day, metric.title]}
          rows={
            hours
              ? rowsOf(hours, { ...metric, fromUnix, step: HOUR_SECONDS })
              : rowsOf(values, { ...metric, fromUnix, step: DAY_SECONDS })
          }
        />
      )}
    </figure>
  )
}

function whyNone({ metric, figures, symbol }: MultipleProps): string {
  if (metric.part !== undefined) return t.none
  return LOGS.includes(metric.metric)
    ? whyNoPrice(figures, symbol)
    : whyUnknown(figures.meta, symbol)
}

/** Newest first; hours to come are left out. */
function rowsOf(
  values: Days,
  {
    fromUnix,
    step,
    big,
  }: Pick<Metric, 'big'> & { readonly fromUnix: number; readonly step: number },
): readonly (readonly string[])[] {
  const last = lastStep({ values, perDay: DAY_SECONDS / step })
  return values
    .slice(0, last + 1)
    .map((value, index) => [
      new Date((fromUnix + index * step) * 1000)
        .toISOString()
        .slice(0, step < DAY_SECONDS ? 16 : 10)
        .replace('T', ' '),
      value === null ? '' : big(value),
    ])
    .reverse()
}

/** A line begins with its first figure, not with the zeros before it. */
function sinceFirst(values: Days, marks: 'line' | 'bars'): Days {
  if (marks === 'bars') return values
  const first = firstKnown([values])
  return values.map((value, index) => (index < first ? null : value))
}

function Ticks({ metric, view, choose }: MultipleProps) {
  return (
    <p class="ticks">
      <Tick isOn={view.isLog} turn={(on) => choose({ isLog: on })}>
        {t.log}
      </Tick>
      {metric.metric === 'price' && view.period <= HOURS_DAYS_MAX && (
        <Tick isOn={view.isByHour} turn={(on) => choose({ isByHour: on })}>
          {t.hours} <small>{t.hoursCost}</small>
        </Tick>
      )}
    </p>
  )
}

/** Stocks say how they changed; flows say that today is not over. */
function noteOf(marks: 'line' | 'bars', values: Days): string {
  if (marks === 'bars') return t.today
  const first = values.find((value) => value !== null)
  const last = values.findLast((value) => value !== null)
  return !first || last == null ? '' : t.change(changeOf(last, first), values.length)
}
