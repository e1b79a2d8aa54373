import type { Page } from '#api/outside-routes.ts'
import type { PageColors } from '#domain/page-settings.ts'
import { isRefusal } from '#domain/refusal.ts'
import type { Clock } from '#lib/time.ts'
import { askRoutes } from '#route/ask-routes.ts'
import type { Route } from '#route/route.ts'
import { drawBadge } from './chart/badge.ts'
import { CHART_NAMES, type Meta, readChart, routeOfChart, sourceOf } from './chart/charts.ts'
import { drawChart, type Theme } from './chart/draw-chart.ts'
import { dollars, short } from './chart/format.ts'
import {
  choice,
  nameOf,
  type PictureKind,
  parametersOf,
  pictureOf,
  picturePage,
} from './picture-page.ts'

export interface ChartDeps {
  readonly routes: readonly Route[]
  readonly clock: Clock
  readonly chains: readonly string[]
  readonly colors: PageColors
}

/** Serves /charts/{name}.svg and /badges/{name}.svg. */
export function chartPages(deps: ChartDeps): readonly Page[] {
  return [picturePage(deps.clock, charts(deps)), picturePage(deps.clock, badges(deps))]
}

const SVG = 'image/svg+xml; charset=utf-8'

function charts({ routes, chains, colors }: ChartDeps): PictureKind {
  const ask = askRoutes(routes)
  const own = {
    period: choice(['7d', '30d', '90d', '365d', 'all'], '30d'),
    theme: choice(['auto', 'light', 'dark'], 'auto'),
  }
  return {
    path: '/charts/{file}',
    type: SVG,
    read(incoming) {
      const name = nameOf(incoming, CHART_NAMES)
      if (isRefusal(name)) return name
      const shared = parametersOf(routes, routeOfChart(name), ['token', 'chain'])
      return pictureOf(name, { ...own, ...shared }, incoming)
    },
    async draw({ name, query: { theme, ...query } }) {
      return drawChart(await readChart({ ask, chains }, name, query), theme as Theme, colors)
    },
  }
}

const BADGES = ['burned', 'holders', 'price', 'dividends', 'supply']

/** Null for what is not followed, such as holders of a reward token. */
interface Stats {
  readonly lifetimeDividendsUsdAtPayout: number | null
  readonly tokens: readonly {
    readonly symbol: string
    readonly totalBurned: string | null
    readonly circulatingSupply: string | null
    readonly holderCount: number | null
    readonly priceUsd: number | null
  }[]
}

function badges({ routes }: ChartDeps): PictureKind {
  const ask = askRoutes(routes)
  const shared = parametersOf(routes, 'getDailyBurns', ['token'])
  return {
    path: '/badges/{file}',
    type: SVG,
    read(incoming) {
      const name = nameOf(incoming, BADGES)
      if (isRefusal(name)) return name
      return pictureOf(name, name === 'dividends' ? {} : shared, incoming)
    },
    async draw({ name, query }) {
      const { data, meta } = (await ask('getStats')) as {
        readonly data: Stats
        readonly meta: Meta
      }
      const isStale = meta.chains.some(({ status }) => status === 'stale')
      return drawBadge({
        label: name === 'price' ? (query.token ?? name) : name,
        value: badgeValue(name, data, query.token) + (isStale ? ', stale' : ''),
        title: sourceOf(meta),
      })
    },
  }
}

function badgeValue(name: string, { tokens, ...stats }: Stats, symbol: string | undefined): string {
  if (name === 'dividends') return priced(stats.lifetimeDividendsUsdAtPayout)
  const token = tokens.find((each) => each.symbol === symbol)
  if (name === 'price') return priced(token?.priceUsd ?? null)
  if (name === 'holders') return token?.holderCount?.toLocaleString('en') ?? 'not known'
  const amount = (name === 'burned' ? token?.totalBurned : token?.circulatingSupply) ?? null
  return amount === null ? 'not known' : `${short(Number(amount))} ${symbol}`
}

function priced(usd: number | null): string {
  return usd === null ? 'no price' : dollars(usd)
}
