import { type Ask, AskRefused } from '#api/examples.ts'
import { DAY_SECONDS } from '#base/time.ts'
import type { Context } from '#context.ts'
import { cards } from '#data/cards.ts'

/** One value per day, oldest first, today last; null if missing. */
type DayValues = readonly (number | null)[]

export interface SnapshotSeries {
  /** Midnight UTC of the first day. */
  readonly fromUnix: number
  readonly days: number
  /** Amounts burned each day in token units, by chain. */
  readonly burned: Readonly<Record<string, DayValues>>
  readonly burnedInAll: DayValues
  /** Keyed by metric, as in /api/stats/history. */
  readonly metrics: Readonly<Record<string, DayValues>>
}

export const SNAPSHOT_DAYS = 90

const PAGE_METRICS: readonly string[] = [
  'supply',
  'holders',
  'price',
  'marketCap',
  ...cards
    .flatMap(({ charts }) => charts.filter((each) => each.isOnPage))
    .map((each) => each.metric),
]

interface Point {
  readonly dateUnix: number
  readonly value: number | null
}

/** Reads daily values of the primary token for a period, from the first day with a figure. */
export async function readSeries(
  { ecosystem }: Context,
  ask: Ask,
  period: `${number}d` | 'all',
): Promise<SnapshotSeries> {
  const chains = ecosystem.chains.map(({ name }) => name)
  const [days = [], ...byChain] = await Promise.all(
    ['all', ...chains].map((chain) => readRows<BurnDay>(ask, 'getDailyBurns', { period, chain })),
  )
  const metrics = await Promise.all(PAGE_METRICS.map((metric) => history(ask, { period, metric })))
  const burned = byChain.map((each) => each.map(toPoint(({ burned }) => burned)))
  const inAll = days.map(toPoint(({ cumulative }) => cumulative))
  const known = [inAll, ...burned, ...metrics].map(sinceFirst)
  const lastUnix = Math.max(
    ...[inAll, ...burned, ...metrics].map((all) => all.at(-1)?.dateUnix ?? 0),
  )
  const fromUnix = Math.min(...known.map(([first]) => first?.dateUnix ?? lastUnix))
  const count = (lastUnix - fromUnix) / DAY_SECONDS + 1
  // Matches points by date, because an answer from before midnight may stand in for a newer one.
  const onDays = (points: readonly Point[]): DayValues => {
    const values = new Map(points.map(({ dateUnix, value }) => [dateUnix, value]))
    return Array.from(
      { length: count },
      (_, day) => values.get(fromUnix + day * DAY_SECONDS) ?? null,
    )
  }
  return {
    fromUnix,
    days: count,
    burned: Object.fromEntries(chains.map((chain, index) => [chain, onDays(burned[index] ?? [])])),
    burnedInAll: onDays(inAll),
    metrics: Object.fromEntries(
      PAGE_METRICS.map((metric, index) => {
        const points = metrics[index] ?? []
        return [metric, points.length === 0 ? [] : onDays(points)]
      }),
    ),
  }
}

interface BurnDay {
  readonly dateUnix: number
  readonly burned: string
  readonly cumulative: string
}

function toPoint(amountOf: (day: BurnDay) => string): (day: BurnDay) => Point {
  return (day) => ({ dateUnix: day.dateUnix, value: Number(amountOf(day)) })
}

/** Drops leading zeros. */
function sinceFirst(points: readonly Point[]): readonly Point[] {
  const first = points.findIndex(({ value }) => value !== null && value !== 0)
  return first === -1 ? [] : points.slice(first)
}

/** Empty if the token lacks the metric, such as a price, or it is not read yet. */
async function history(
  ask: Ask,
  query: Readonly<Record<string, string>>,
): Promise<readonly Point[]> {
  try {
    const { data } = (await ask('getStatsHistory', query)) as {
      readonly data: { readonly points: readonly Point[] }
    }
    return data.points
  } catch (error) {
    const hasNone = error instanceof AskRefused && error.refusal.code === 'invalid_parameter'
    if (hasNone || isNotReady(error)) return []
    throw error
  }
}

export function isNotReady(error: unknown): boolean {
  return error instanceof AskRefused && error.refusal.code === 'data_not_ready'
}

/** Returns a list's rows; none before its dataset is first read. */
export async function readRows<Row>(
  ask: Ask,
  operationId: string,
  query: Readonly<Record<string, string>>,
): Promise<readonly Row[]> {
  try {
    return ((await ask(operationId, query)) as { readonly data: readonly Row[] }).data
  } catch (error) {
    if (isNotReady(error)) return []
    throw error
  }
}
