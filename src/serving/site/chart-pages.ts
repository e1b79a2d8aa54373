import type { Page } from '#api/outside-routes.ts'
import type { Context } from '#context.ts'
import { isRefusal } from '#domain/refusal.ts'
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

/** Serves /charts/{name}.svg and /badges/{name}.svg. */
export function chartPages(ctx: Context, routes: readonly Route[]): readonly Page[] {
  return [charts(ctx, routes), badges(routes)].map((kind) => picturePage(ctx.clock, kind))
}

const SVG = 'image/svg+xml; charset=utf-8'

function charts({ ecosystem }: Context, routes: readonly Route[]): PictureKind {
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
      const { chains, service } = ecosystem
      const names = chains.map((chain) => chain.name)
      const chart = await readChart({ ask, chains: names }, name, query)
      return drawChart(chart, theme as Theme, service.colors)
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

function badges(routes: readonly Route[]): PictureKind {
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
