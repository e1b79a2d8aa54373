import { formatDecimal, toUsdPriceExact, toValueExact } from '#base/money.ts'
import { isTracked } from '#base/token.ts'
import type { Context } from '#context.ts'
import { HOLDERS, PRICES } from '#data/dataset-names.ts'
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
import { type SeriesDay, valuesAtDayEnds } from '#data/parameters.ts'
import { dayPrices } from '#data/prices/price-book.ts'
import { firstDay } from '#data/prices/queries.ts'
import type { Connection } from '#db/engine.ts'
import type { PricedToken } from '#ecosystem/ecosystem.ts'
import type { EventMetric } from '#ecosystem/event-kind.ts'
import {
  dollarsOf,
  firstEventDay,
  NOTHING,
  readEventDays,
  type Sums,
  sumTotals,
  takeSums,
  totalOf,
  unpricedOf,
} from '#index/events/sums.ts'
import type { IndexStatus } from '#index/status.ts'

export interface MetricSource {
  readonly connection: Connection
  readonly ctx: Context
  readonly token: PricedToken | undefined
  readonly status: IndexStatus
}

type Values = readonly (string | null)[]

/** Values are exact decimal strings, null when unknown. */
export interface Metric {
  /** The optional part of the ecosystem that it counts. */
  readonly part?: EventPart
  /** Whether it is the state at the end of a day, not the sum of the day. */
  readonly isStock: boolean
  readonly unit: 'token' | 'usd' | 'count'
  readonly dataset: string
  /** Whether it counts every token if none is requested. */
  readonly overAllTokens: boolean
  firstUnix(source: MetricSource): Promise<number | undefined>
  values(source: MetricSource, days: readonly SeriesDay[]): Promise<Values>
  /** Events without a dollar value in each figure; absent unless it sums dollars. */
  unpriced?(source: MetricSource, days: readonly SeriesDay[]): Promise<readonly number[]>
}

const ofStock = {
  supply: ofTracked(
    stock('token', async (source, days) =>
      shown('token', source, await supplyValues(source, days)),
    ),
  ),
  holders: ofTracked(stock('count', holderValues)),
  price: {
    ...stock('usd', pricesExact),
    dataset: PRICES,
    firstUnix: ({ connection, token }: MetricSource) => firstDay(connection, token?.symbol ?? ''),
  },
  marketCap: ofTracked(stock('usd', marketCapValues)),
}

const PICK: Readonly<Record<Metric['unit'], (sums: Sums) => bigint | null>> = {
  token: ({ amount }) => amount,
  usd: dollarsOf,
  count: ({ events }) => BigInt(events),
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

function stock(unit: Metric['unit'], values: Metric['values']): Metric {
  return {
    unit,
    dataset: HOLDERS,
    isStock: true,
    overAllTokens: false,
    firstUnix: ({ connection, token }) => firstSupplyDay(connection, token?.symbol ?? ''),
    values,
  }
}

/** Unknown, not zero, for reward tokens and for tokens that cannot be followed. */
function ofTracked(metric: Metric): Metric {
  return {
    ...metric,
    values: async (source, days) =>
      source.token !== undefined &&
      isTracked(source.token) &&
      areHoldersKnown(source.status, source.token)
        ? metric.values(source, days)
        : days.map(() => null),
  }
}

function eventMetric(dataset: string, { unit, isCumulative = false }: EventMetric): Metric {
  const sumsOf = isCumulative ? sumsUntil : daySums
  const pick = PICK[unit]
  return {
    unit,
    dataset,
    isStock: isCumulative,
    overAllTokens: unit === 'usd',
    firstUnix: ({ connection, token }) => firstEventDay(connection, dataset, token?.symbol),
    values: async (source, days) =>
      shown(unit, source, (await sumsOf(dataset, source, days)).map(pick)),
    ...(unit === 'usd' && {
      unpriced: async (source, days) => (await sumsOf(dataset, source, days)).map(unpricedOf),
    }),
  }
}

async function daySums(
  dataset: string,
  source: MetricSource,
  days: readonly SeriesDay[],
): Promise<readonly Sums[]> {
  const byDay = await eventDays(dataset, source, days)
  return days.map((day) => byDay.get(day.dateUnix) ?? NOTHING)
}

/** Returns the sums at the end of each day. */
async function sumsUntil(
  dataset: string,
  source: MetricSource,
  days: readonly SeriesDay[],
): Promise<readonly Sums[]> {
  const byDay = await eventDays(dataset, source, days)
  const totals = await sumTotals(source.connection, dataset)
  const { token } = source
  const now = totalOf(totals, (each) => !token || each.token === token.symbol)
  return valuesAtDayEnds(days, now, (value, day) => takeSums(value, byDay.get(day) ?? NOTHING))
}

function eventDays(dataset: string, source: MetricSource, days: readonly SeriesDay[]) {
  const fromUnix = days[0]?.dateUnix ?? 0
  const { connection, token } = source
  return readEventDays(connection, { dataset, fromUnix, token: token?.symbol })
}

function shown(
  unit: Metric['unit'],
  source: MetricSource,
  values: readonly (bigint | null)[],
): Values {
  return values.map((value) => (value === null ? null : show(unit, source, value)))
}

function show(unit: Metric['unit'], source: MetricSource, value: bigint): string {
  if (unit === 'count') return value.toString()
  return formatDecimal(value, unit === 'usd' ? 6 : (source.token?.decimals ?? 0))
}

async function supplyValues({ connection, token }: MetricSource, days: readonly SeriesDay[]) {
  const symbol = token?.symbol ?? ''
  const now = circulatingOf(await readTotalSupply(connection, symbol))
  const changes = await readSupplyDays(connection, symbol, days[0]?.dateUnix ?? 0)
  return valuesAtDayEnds(days, now, (value, day) => {
    const change = changes.get(day)
    return change === undefined ? value : value - circulatingOf(change)
  })
}

async function holderValues({ connection, token }: MetricSource, days: readonly SeriesDay[]) {
  const symbol = token?.symbol ?? ''
  const now = await countHolders(connection, symbol)
  const changes = await readHolderDays(connection, symbol, days[0]?.dateUnix ?? 0)
  const values = valuesAtDayEnds(days, now, (value, day) => value - (changes.get(day) ?? 0))
  return values.map(String)
}

async function pricesExact(source: MetricSource, days: readonly SeriesDay[]): Promise<Values> {
  const prices = await priceValues(source, days)
  return prices.map((price) => (price === null ? null : toUsdPriceExact(price)))
}

function priceValues({ connection, ctx, token }: MetricSource, days: readonly SeriesDay[]) {
  const dayUnix = days.map((day) => day.dateUnix)
  return dayPrices(ctx, connection, token?.symbol ?? '', dayUnix)
}

async function marketCapValues(source: MetricSource, days: readonly SeriesDay[]): Promise<Values> {
  const prices = await priceValues(source, days)
  const supplies = await supplyValues(source, days)
  const decimals = source.token?.decimals ?? 0
  return prices.map((price, index) =>
    price === null ? null : toValueExact(supplies[index] ?? 0n, decimals, price),
  )
}
