import { formatDecimal, toUsdPriceExact, toValueExact } from '#base/money.ts'
import { isTracked } from '#base/token.ts'
import type { Context } from '#context.ts'
import {
  circulatingOf,
  countHolders,
  firstSupplyDay,
  readHolderDays,
  readSupplyDays,
  readTotalSupply,
} from '#data/holders/queries.ts'
import { type EventPart, eventKinds } from '#data/kinds.ts'
import { areHoldersKnown } from '#data/meta.ts'
import {
  type Period,
  readEventSeries,
  type SeriesDay,
  seriesDays,
  valuesAtDayEnds,
} from '#data/parameters.ts'
import { dayPrices } from '#data/prices/price-book.ts'
import { firstDay } from '#data/prices/queries.ts'
import type { Connection } from '#db/engine.ts'
import type { PricedToken } from '#ecosystem/ecosystem.ts'
import type { EventMetric } from '#ecosystem/event-kind.ts'
import { dollarsOf, type Sums, unpricedOf } from '#index/events/sums.ts'
import type { IndexStatus } from '#index/status.ts'

export interface MetricSource {
  readonly connection: Connection
  readonly ctx: Context
  readonly token: PricedToken | undefined
  readonly status: IndexStatus
}

export interface Figure {
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
      const first = period === 'all' ? await firstDay(connection, symbol) : undefined
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
    const value = unit === 'usd' ? dollarsOf(sums) : sums.amount
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
        const unpriced = unit === 'usd' ? unpricedOf(shown) : null
        return { day, value: show(shown, token), unpriced }
      })
    },
  }
}

async function readSupplies(
  { connection, token: { symbol } }: StockSource,
  days: readonly SeriesDay[],
): Promise<readonly bigint[]> {
  const now = circulatingOf(await readTotalSupply(connection, symbol))
  const changes = await readSupplyDays(connection, symbol, days[0]?.dateUnix ?? 0)
  return valuesAtDayEnds(days, now, (value, day) => {
    const change = changes.get(day)
    return change === undefined ? value : value - circulatingOf(change)
  })
}

function readPrices({ ctx, connection }: MetricSource, symbol: string, days: readonly SeriesDay[]) {
  return dayPrices(
    ctx,
    connection,
    symbol,
    days.map(({ dateUnix }) => dateUnix),
  )
}
