import { cards } from '#chains/kinds/cards.ts'
import { type Ask, AskRefused } from '#route/ask-routes.ts'
import { isNotReady, rowsOf } from './lasting-ask.ts'

/** One value a day, oldest first, today last; null where there is none. */
export type DayValues = readonly (number | null)[]

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

interface Day {
  readonly dateUnix: number
  readonly burned: string
  readonly cumulative: string
}

interface Point {
  readonly dateUnix: number
  readonly value: number | null
}

/** Reads the last 90 days of the primary token. */
export async function seriesOf(deps: {
  readonly ask: Ask
  readonly chains: readonly string[]
}): Promise<SnapshotSeries> {
  const { ask, chains } = deps
  const period = `${SNAPSHOT_DAYS}d`
  const [days = [], ...byChain] = await Promise.all(
    ['all', ...chains].map((chain) => rowsOf<Day>(ask, 'getDailyBurns', { period, chain })),
  )
  const metrics = await Promise.all(PAGE_METRICS.map((metric) => history(ask, { period, metric })))
  // Matched by date, because an answer from before midnight may stand in for a newer one.
  const onDays = (points: readonly Point[]): DayValues => {
    const values = new Map(points.map(({ dateUnix, value }) => [dateUnix, value]))
    return days.map(({ dateUnix }) => values.get(dateUnix) ?? null)
  }
  const burned = byChain.map((each) =>
    onDays(each.map((day) => ({ dateUnix: day.dateUnix, value: Number(day.burned) }))),
  )
  return {
    fromUnix: days[0]?.dateUnix ?? 0,
    days: days.length,
    burned: Object.fromEntries(chains.map((chain, index) => [chain, burned[index] ?? []])),
    burnedInAll: days.map((day) => Number(day.cumulative)),
    metrics: Object.fromEntries(
      PAGE_METRICS.map((metric, index) => {
        const points = metrics[index] ?? []
        return [metric, points.length === 0 ? [] : onDays(points)]
      }),
    ),
  }
}

/** Empty where the token has no such metric, such as a price, or it is not read yet. */
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
