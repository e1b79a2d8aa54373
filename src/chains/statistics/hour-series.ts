import { Type } from 'typebox'
import type { Period } from '#chains/datasets/parameters.ts'
import { CANDLE_DAYS } from '#chains/datasets/prices/fold-hours.ts'
import { hourCandles } from '#chains/datasets/prices/price-book.ts'
import { nullable } from '#chains/datasets/wire.ts'
import { type Price, toUsdPrice, toUsdPriceExact } from '#domain/money.ts'
import { type Refusal, refuse } from '#domain/refusal.ts'
import { HOUR_SECONDS, startOfHour, toDate } from '#lib/time.ts'
import { type Parameter, parsed } from '#route/parameter.ts'
import type { MetricSource } from './metrics.ts'

export const INTERVALS = ['day', 'hour'] as const

type Interval = (typeof INTERVALS)[number]

export const intervalParameter: Parameter<Interval> = {
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

export const candleProperties = { open: price, high: price, low: price, close: price }

export function refuseHours(metric: string, period: Period): Refusal | undefined {
  if (metric !== 'price') return wrong('interval', 'hour is there for the metric price only')
  const isLong = period !== 'all' && period > CANDLE_DAYS
  return isLong ? wrong('period', `must be at most ${CANDLE_DAYS}d for hours`) : undefined
}

function wrong(name: string, reason: string): Refusal {
  return refuse('invalid_parameter', `${name} ${reason}`, {
    errors: [{ in: 'query', name, reason }],
  })
}

/** The hours that end with the present one, oldest first. */
export async function readHours({ connection, ctx, token, status }: MetricSource, days: number) {
  const last = startOfHour(status.asOfUnix)
  const count = days * 24
  const hours = Array.from({ length: count }, (_, at) => last - (count - 1 - at) * HOUR_SECONDS)
  const candles = await hourCandles(ctx, connection, token?.symbol ?? '', hours)
  // An hour opens where the last one closed.
  let before: Price | null = null
  let known: number | null = null
  return candles.map(({ open, high, low, close }, at) => {
    const hour = hours[at] ?? 0
    const opened: number | null = open === before ? known : numberOf(open)
    const valueExact = close === null ? null : toUsdPriceExact(close)
    const value = valueExact === null ? null : Number(valueExact)
    before = close
    known = value
    return {
      date: toDate(hour),
      dateUnix: hour,
      value,
      valueExact,
      unpricedCount: null,
      complete: hour !== last,
      open: opened,
      high: numberOf(high),
      low: numberOf(low),
      close: value,
    }
  })
}

function numberOf(each: Price | null): number | null {
  return each === null ? null : toUsdPrice(each)
}
