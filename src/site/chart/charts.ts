import type { TArray, TSchema } from 'typebox'
import type { Ask, Reply } from '#api/examples.ts'
import type { dayRow } from '#data/burns/endpoints.ts'
import { cards } from '#data/cards.ts'
import type { historyShape } from '#data/stats/history.ts'
import type { Ecosystem } from '#ecosystem/ecosystem.ts'
import { type EventChart, inWords } from '../event-card.ts'
import type { Picture } from '../picture-page.ts'
import type { Chart } from './draw-chart.ts'
import { dollars, formatAge, short } from './format.ts'
import { firstKnown } from './geometry.ts'

type MetricChart = Pick<EventChart, 'name' | 'metric' | 'title' | 'marks'>

/** Charts by their name in URLs; each shows one metric, except for burns, which shows a series per chain. */
const METRIC_CHARTS: readonly MetricChart[] = [
  { name: 'supply', metric: 'supply', title: 'Circulating supply', marks: 'line' },
  { name: 'holders', metric: 'holders', title: 'Holders', marks: 'line' },
  { name: 'price', metric: 'price', title: 'Price', marks: 'line' },
  { name: 'market-cap', metric: 'marketCap', title: 'Market cap', marks: 'line' },
  ...cards.flatMap(({ charts }) => charts),
]

const byName = new Map(METRIC_CHARTS.map((each) => [each.name, each]))

export const CHART_NAMES: readonly string[] = ['burns', ...byName.keys()]

/** Throws AskRefused while the data is not ready. */
export async function readChart(
  { chains, service }: Ecosystem,
  ask: Ask,
  { name, query }: Picture,
): Promise<Chart> {
  const chart = byName.get(name)
  if (chart === undefined) return readBurns(chains, ask, query)
  const { metric, title, marks } = chart
  const asking = ask('getStatsHistory', { ...query, metric })
  const { data, meta } = (await asking) as Reply<typeof historyShape>
  const first = firstKnown([data.points.map(({ value }) => value)])
  const points = marks === 'line' ? data.points.slice(first) : data.points
  const values = points.map(({ value }) => value)
  const format = data.unit === 'usd' ? dollars : short
  const newest = values.findLast((value) => value !== null)
  const unit = data.unit === 'token' ? ` ${data.token}` : ''
  return {
    title: metric === 'price' ? `Price of ${data.token}` : inWords(title, service.words),
    readout: newest === undefined || newest === null ? 'no figure yet' : format(newest) + unit,
    marks,
    isWhole: data.unit === 'count',
    series: [{ name: metric, values }],
    fromUnix: points[0]?.dateUnix ?? 0,
    source: describeSource(meta),
    format,
  }
}

async function readBurns(
  chains: Ecosystem['chains'],
  ask: Ask,
  { chain = 'all', ...query }: Picture['query'],
): Promise<Chart> {
  const read = async (chain: string) =>
    (await ask('getDailyBurns', { ...query, chain })) as Reply<TArray<typeof dayRow>>
  const whole = await read(chain)
  const shown = chain === 'all' ? chains.map(({ name }) => name) : [chain]
  const [first] = whole.data
  const series = await Promise.all(
    shown.map(async (name) => {
      const { data } = await read(name)
      // With period `all`, each chain's days begin at its own first burn.
      const burned = new Map(data.map((day) => [day.dateUnix, Number(day.burned)]))
      return { name, values: whole.data.map(({ dateUnix }) => burned.get(dateUnix) ?? 0) }
    }),
  )
  const total = whole.data.reduce((sum, { burned }) => sum + Number(burned), 0)
  return {
    title: `${first?.token ?? ''} burned a day`,
    readout: `${short(total)} in ${whole.data.length} days`,
    marks: 'bars',
    isWhole: false,
    series,
    fromUnix: first?.dateUnix ?? 0,
    source: describeSource(whole.meta),
    format: short,
  }
}

/** Names the blocks of the figures, and the age of silent chains' figures. */
export function describeSource({ chains }: Reply<TSchema>['meta']): string {
  const blocks = chains.map(({ chain, blockNumber, status, lagSeconds }) => {
    const silent = status === 'stale' ? ` (stale, ${formatAge(lagSeconds)} old)` : ''
    return `${chain} ${blockNumber.toLocaleString('en')}${silent}`
  })
  return `As of block ${blocks.join(', ')}`
}
