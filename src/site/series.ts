import type { Ask } from '#route/ask-routes.ts'
import { AskRefused } from '#route/ask-routes.ts'

/** One value a day, oldest first, today last; null where there is none. */
export type DayValues = readonly (number | null)[]

export interface SnapshotSeries {
  /** Midnight UTC of the first day. */
  readonly fromUnix: number
  readonly days: number
  /** Burned a day in token units, by chain. */
  readonly burned: Readonly<Record<string, DayValues>>
  readonly burnedInAll: DayValues
  /** By metric, as in /api/stats/history. */
  readonly metrics: Readonly<Record<string, DayValues>>
}

export const SNAPSHOT_DAYS = 90

export const PAGE_METRICS = [
  'supply',
  'holders',
  'price',
  'marketCap',
  'dividends',
  'graveDigs',
] as const

interface Day {
  readonly dateUnix: number
  readonly burned: string
  readonly cumulative: string
}

interface Point {
  readonly value: number | null
}

/** The last 90 days of the primary token. */
export async function seriesOf(deps: {
  readonly ask: Ask
  readonly chains: readonly string[]
}): Promise<SnapshotSeries> {
  const { ask, chains } = deps
  const period = `${SNAPSHOT_DAYS}d`
  const [all, ...byChain] = await Promise.all(
    ['all', ...chains].map((chain) => burnDays(ask, { period, chain })),
  )
  const metrics = await Promise.all(PAGE_METRICS.map((metric) => history(ask, { period, metric })))
  return {
    fromUnix: all?.[0]?.dateUnix ?? 0,
    days: all?.length ?? 0,
    burned: Object.fromEntries(
      chains.map((chain, index) => [
        chain,
        (byChain[index] ?? []).map((day) => Number(day.burned)),
      ]),
    ),
    burnedInAll: (all ?? []).map((day) => Number(day.cumulative)),
    metrics: Object.fromEntries(
      PAGE_METRICS.map((metric, index) => [metric, metrics[index] ?? []]),
    ),
  }
}

async function burnDays(
  ask: Ask,
  query: Readonly<Record<string, string>>,
): Promise<readonly Day[]> {
  const { data } = (await ask('getDailyBurns', query)) as { readonly data: readonly Day[] }
  return data
}

/** Empty where the token has no such metric, such as a price. */
async function history(ask: Ask, query: Readonly<Record<string, string>>): Promise<DayValues> {
  try {
    const { data } = (await ask('getStatsHistory', query)) as {
      readonly data: { readonly points: readonly Point[] }
    }
    return data.points.map(({ value }) => value)
  } catch (error) {
    if (error instanceof AskRefused && error.refusal.code === 'invalid_parameter') return []
    throw error
  }
}
