import { type Static, Type } from 'typebox'
import {
  formatDecimal,
  type Price,
  toUsdPrice,
  toUsdPriceExact,
  toValueExact,
} from '#base/money.ts'
import { type Refusal, refuse } from '#base/refusal.ts'
import { named } from '#base/schema.ts'
import { HOUR_SECONDS, startOfHour, toDate } from '#base/time.ts'
import { isTracked } from '#base/token.ts'
import type { Context } from '#context.ts'
import { dataRoute } from '#data/data-route.ts'
import { countUnpriced, type Sums, toDollars } from '#data/events/sums.ts'
import {
  countHolders,
  firstSupplyDay,
  readHolderDays,
  readSupplyDays,
  readTotalSupply,
  sumCirculating,
} from '#data/holders/queries.ts'
import { type EventPart, eventKinds } from '#data/kinds.ts'
import { areHoldersKnown, nullable, unixTime } from '#data/meta.ts'
import {
  type Period,
  periodParameter,
  readEventSeries,
  type SeriesDay,
  seriesDays,
  tokenParameter,
  valuesAtDayEnds,
} from '#data/parameters.ts'
import { CANDLE_DAYS, hourCandles } from '#data/prices/hours.ts'
import { dayPrices, firstPrice, priceAt } from '#data/prices/price-book.ts'
import type { Connection } from '#db/engine.ts'
import type { PricedToken } from '#ecosystem/ecosystem.ts'
import type { EventMetric } from '#ecosystem/event-kind.ts'
import type { IndexStatus } from '#index/status.ts'
import { type Parameter, parsed, type Route } from '#route.ts'

interface MetricSource {
  readonly connection: Connection
  readonly ctx: Context
  readonly token: PricedToken | undefined
  readonly status: IndexStatus
}

interface Figure {
  readonly day: SeriesDay
  /** An exact decimal string; null while unknown. */
  readonly value: string | null
  /** Events without a dollar value; null unless it sums dollars. */
  readonly unpriced: number | null
}

export interface Metric {
  /** The optional part of the ecosystem that it counts. */
  readonly part?: EventPart
  /** Whether it is the state at the end of a day, not the sum of the day. */
  readonly isStock: boolean
  readonly unit: 'token' | 'usd' | 'count'
  /** Whether it counts every token if none is requested. */
  readonly overAllTokens: boolean
  read(source: MetricSource, period: Period): Promise<readonly Figure[]>
}

interface StockSource extends MetricSource {
  readonly token: PricedToken
}

type Values = readonly (string | null)[]

const ofStock = {
  supply: stock('token', async (source, days) => {
    const supplies = await readSupplies(source, days)
    return supplies.map((supply) => formatDecimal(supply, source.token.decimals))
  }),
  holders: stock('count', async ({ connection, token: { symbol } }, days) => {
    const now = await countHolders(connection, symbol)
    const changes = await readHolderDays(connection, symbol, days[0]?.dateUnix ?? 0)
    const values = valuesAtDayEnds(days, now, (value, day) => value - (changes.get(day) ?? 0))
    return values.map(String)
  }),
  price: {
    ...stock('usd', () => Promise.resolve([])),
    async read(source: MetricSource, period: Period) {
      const { connection, token, status } = source
      const symbol = token?.symbol ?? ''
      const first = period === 'all' ? await firstPrice(connection, symbol) : undefined
      const days = seriesDays(period, status.asOfUnix, first)
      const prices = await readPrices(source, symbol, days)
      return toFigures(
        days,
        prices.map((price) => (price === null ? null : toUsdPriceExact(price))),
      )
    },
  },
  marketCap: stock('usd', async (source, days) => {
    const { symbol, decimals } = source.token
    const prices = await readPrices(source, symbol, days)
    const supplies = await readSupplies(source, days)
    return prices.map((price, index) =>
      price === null ? null : toValueExact(supplies[index] ?? 0n, decimals, price),
    )
  }),
}

const ofEvents = eventKinds.flatMap(({ part, dataset, metrics: own }) =>
  own.map((each) => [each.name, { ...eventMetric(dataset, each), part }] as const),
)

const all: readonly (readonly [string, Metric])[] = [...Object.entries(ofStock), ...ofEvents]
const isAmount = ({ unit }: Metric) => Number(unit === 'token')

/** All series by their name, amounts of a token first. */
export const metrics: ReadonlyMap<string, Metric> = new Map(
  all.toSorted(([, a], [, b]) => isAmount(b) - isAmount(a)),
)

export const METRICS: readonly string[] = [...metrics.keys()]

/** Unknown, not zero, for reward tokens and for tokens that cannot be followed. */
function stock(
  unit: Metric['unit'],
  read: (source: StockSource, days: readonly SeriesDay[]) => Promise<Values>,
): Metric {
  return {
    unit,
    isStock: true,
    overAllTokens: false,
    async read(source, period) {
      const { connection, token, status } = source
      const first =
        period === 'all' ? await firstSupplyDay(connection, token?.symbol ?? '') : undefined
      const days = seriesDays(period, status.asOfUnix, first)
      const isKnown = token && isTracked(token) && areHoldersKnown(status, token)
      return toFigures(days, isKnown ? await read({ ...source, token }, days) : [])
    },
  }
}

function toFigures(days: readonly SeriesDay[], values: Values): readonly Figure[] {
  return days.map((day, index) => ({ day, value: values[index] ?? null, unpriced: null }))
}

function eventMetric(dataset: string, { unit, isCumulative = false }: EventMetric): Metric {
  const show = (sums: Sums, token: PricedToken | undefined) => {
    if (unit === 'count') return String(sums.events)
    const value = unit === 'usd' ? toDollars(sums) : sums.amount
    return value === null ? null : formatDecimal(value, unit === 'usd' ? 6 : (token?.decimals ?? 0))
  }
  return {
    unit,
    isStock: isCumulative,
    overAllTokens: unit === 'usd',
    async read({ connection, token, status: { asOfUnix } }, period) {
      const series = await readEventSeries(connection, { dataset, token }, { period, asOfUnix })
      return series.map(({ day, sums, until }) => {
        const shown = isCumulative ? until : sums
        const unpriced = unit === 'usd' ? countUnpriced(shown) : null
        return { day, value: show(shown, token), unpriced }
      })
    },
  }
}

async function readSupplies(
  { connection, token: { symbol } }: StockSource,
  days: readonly SeriesDay[],
): Promise<readonly bigint[]> {
  const now = sumCirculating(await readTotalSupply(connection, symbol))
  const changes = await readSupplyDays(connection, symbol, days[0]?.dateUnix ?? 0)
  return valuesAtDayEnds(days, now, (value, day) => {
    const change = changes.get(day)
    return change === undefined ? value : value - sumCirculating(change)
  })
}

/** At the end of each day; today, as of now. */
async function readPrices(
  { ctx, connection, status }: MetricSource,
  symbol: string,
  days: readonly SeriesDay[],
): Promise<readonly (Price | null)[]> {
  const past = days.slice(0, -1).map(({ dateUnix }) => dateUnix)
  return [
    ...(await dayPrices(ctx, connection, symbol, past)),
    await priceAt(ctx, connection, symbol, status.asOfUnix),
  ]
}

const INTERVALS = ['day', 'hour'] as const

type Interval = (typeof INTERVALS)[number]

const intervalParameter: Parameter<Interval> = {
  in: 'query',
  description: `\`hour\` is there for \`price\`, up to ${CANDLE_DAYS} days back.`,
  schema: Type.Enum([...INTERVALS], { default: 'day' }),
  parse(raw = 'day') {
    const interval = INTERVALS.find((each) => each === raw)
    return interval === undefined
      ? { ok: false, reason: 'must be day or hour', allowed: INTERVALS }
      : parsed(interval, interval)
  },
}

const price = nullable(Type.Number({ description: 'Dollars; null while unknown' }))

const pointShape = named('StatsPoint', {
  date: Type.String({ format: 'date' }),
  dateUnix: unixTime,
  value: nullable(Type.Number({ description: 'The number nearest to `valueExact`' })),
  valueExact: nullable(Type.String(), {
    description: 'The exact figure as a decimal string; null without a value',
  }),
  unpricedCount: nullable(Type.Integer(), {
    description: 'Of sums of dollars: how many of the events have no value; else null',
  }),
  complete: Type.Boolean({ description: 'False for today, and for the hour that has not ended' }),
})

const hourShape = named('PriceHour', {
  ...pointShape.properties,
  open: price,
  high: price,
  low: price,
  close: price,
})

export const historyShape = named('StatsHistory', {
  metric: Type.Enum([...METRICS]),
  token: Type.String({ description: 'A symbol, or `all` for dividends of every reward token' }),
  unit: Type.Enum(['token', 'usd', 'count']),
  period: Type.String(),
  interval: Type.Enum([...INTERVALS]),
  points: Type.Array(Type.Union([pointShape, hourShape])),
})

type History = Static<typeof historyShape>

const listNames = (isStock: boolean) =>
  METRICS.filter((name) => metrics.get(name)?.isStock === isStock).join(', ')

const metricParameter: Parameter<Metric & { readonly name: string }> = {
  in: 'query',
  description: `Which series. Stock metrics (${listNames(true)}) are the state at the end of the day, flow metrics (${listNames(false)}) the sum of the day.`,
  schema: Type.Enum([...METRICS], { default: 'supply' }),
  example: 'supply',
  parse(raw = 'supply') {
    const metric = metrics.get(raw)
    return metric
      ? parsed({ ...metric, name: raw }, raw)
      : { ok: false, reason: 'is not a metric of this service', allowed: METRICS }
  },
}

export function statsHistoryRoute(ctx: Context): Route {
  const { tokens, primary } = ctx.ecosystem
  return dataRoute(ctx, {
    path: '/api/stats/history',
    operationId: 'getStatsHistory',
    tag: 'Statistics',
    summary: 'History of a metric',
    description:
      'One point per UTC day of the period, without gaps, oldest first; today is last and incomplete. With `interval=hour`, for `price` only, one point per hour of up to 90 days: `value` is the close, and `open` the close of the hour before; `high` and `low` are those of the token’s own source, in dollars by its quote at the end of the hour. Without `token`, dividends cover all reward tokens in US dollars, and every other metric covers the primary token.',
    parameters: {
      metric: metricParameter,
      period: periodParameter,
      interval: intervalParameter,
      token: tokenParameter(tokens, undefined),
    },
    data: historyShape,
    csv: {
      row: (data) => ((data as History).interval === 'hour' ? hourShape : pointShape),
      rows: (data) => (data as History).points,
    },
    check: ({ metric, interval, period }) =>
      interval === 'hour' ? refuseHours(metric.name, period) : undefined,
    async read({ connection, status, parameters: { metric, period, interval, ...asked } }) {
      const token = asked.token ?? (metric.overAllTokens ? undefined : primary)
      const source = { connection, ctx, token, status }
      const points =
        interval === 'hour'
          ? await readHours(source, typeof period === 'number' ? period : CANDLE_DAYS)
          : (await metric.read(source, period)).map(showDay)
      const data = {
        metric: metric.name,
        token: token?.symbol ?? 'all',
        unit: metric.unit,
        period: period === 'all' ? 'all' : `${period}d`,
        interval,
        points,
      }
      return { data, query: { token: data.token } }
    },
  })
}

function showDay({ day: { date, dateUnix, complete }, value, unpriced }: Figure) {
  const number = value === null ? null : Number(value)
  return { date, dateUnix, value: number, valueExact: value, unpricedCount: unpriced, complete }
}

function refuseHours(metric: string, period: Period): Refusal | undefined {
  if (metric !== 'price') return wrong('interval', 'hour is there for the metric price only')
  const isLong = period !== 'all' && period > CANDLE_DAYS
  return isLong ? wrong('period', `must be at most ${CANDLE_DAYS}d for hours`) : undefined
}

function wrong(name: string, reason: string): Refusal {
  return refuse('invalid_parameter', `${name} ${reason}`, {
    errors: [{ in: 'query', name, reason }],
  })
}

async function readHours({ connection, ctx, token, status }: MetricSource, days: number) {
  const last = startOfHour(status.asOfUnix)
  const count = days * 24
  const hours = Array.from({ length: count }, (_, at) => last - (count - 1 - at) * HOUR_SECONDS)
  const candles = await hourCandles(ctx, connection, token?.symbol ?? '', hours)
  const numberOf = (each: Price | null) => (each === null ? null : toUsdPrice(each))
  return candles.map(({ open, high, low, close }, at) => {
    const dateUnix = hours[at] ?? 0
    const day = { date: toDate(dateUnix), dateUnix, complete: dateUnix !== last }
    const value = close === null ? null : toUsdPriceExact(close)
    const shown = showDay({ day, value, unpriced: null })
    const [first, most, least] = [open, high, low].map(numberOf)
    return { ...shown, open: first, high: most, low: least, close: shown.value }
  })
}
