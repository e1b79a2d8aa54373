import { hash } from 'node:crypto'
import { LRUCache } from 'lru-cache'
import { isRefusal, type Refusal, refuse } from '#domain/refusal.ts'
import type { Clock } from '#lib/time.ts'
import { AskRefused, askRoutes } from '#route/ask-routes.ts'
import { type Parameter, parsed } from '#route/parameter.ts'
import { parseParameters, type Route } from '#route/route.ts'
import type { Page } from '#serving/api/outside-routes.ts'
import { matchesEtag } from '#serving/http/etag.ts'
import type { Incoming, Outgoing } from '#serving/http/exchange.ts'
import { drawBadge } from './chart/badge.ts'
import { CHART_NAMES, type Meta, readChart, routeOfChart, sourceOf } from './chart/charts.ts'
import { drawChart, type Theme } from './chart/draw-chart.ts'
import { dollars, short } from './chart/format.ts'
import type { SiteColors } from './theme.ts'

/** A picture is drawn at most once a minute, however often it is fetched. */
const KEPT_MS = 60_000

const KEPT_MAX = 300

interface Drawn {
  readonly svg: string
  readonly etag: string
}

export interface ChartDeps {
  readonly routes: readonly Route[]
  readonly clock: Clock
  readonly chains: readonly string[]
  readonly colors: SiteColors
}

/** A picture by what it depends on, so that no other spelling makes it be drawn again. */
interface Picture {
  readonly name: string
  readonly query: Readonly<Record<string, string>>
}

interface PictureKind {
  readonly path: string
  read(incoming: Incoming): Picture | Refusal
  draw(picture: Picture): Promise<string>
}

/** Serves /charts/{name}.svg and /badges/{name}.svg. */
export function chartPages(deps: ChartDeps): readonly Page[] {
  return [picturePage(deps, charts(deps)), picturePage(deps, badges(deps))]
}

function picturePage({ clock }: ChartDeps, { path, read, draw }: PictureKind): Page {
  const kept = new LRUCache<string, { made: Promise<Drawn>; atMs: number }>({ max: KEPT_MAX })
  return {
    path,
    async read(incoming) {
      const picture = read(incoming)
      if (isRefusal(picture)) return picture
      const key = JSON.stringify(picture)
      const now = clock()
      let known = kept.get(key)
      if (known === undefined || now < known.atMs || now >= known.atMs + KEPT_MS) {
        known = { made: drawn(draw(picture)), atMs: now }
        kept.set(key, known)
        // A refusal or an outage may end soon.
        known.made.catch(() => kept.delete(key))
      }
      try {
        return toOutgoing(incoming, await known.made, known.atMs + KEPT_MS - now)
      } catch (error) {
        if (error instanceof AskRefused) return error.refusal
        throw error
      }
    },
  }
}

async function drawn(drawing: Promise<string>): Promise<Drawn> {
  const svg = await drawing
  return { svg, etag: `W/"${hash('sha256', svg, 'base64url').slice(0, 22)}"` }
}

/** The caller's cache and ours together keep a picture for a minute. */
function toOutgoing(incoming: Incoming, { svg, etag }: Drawn, leftMs: number): Outgoing {
  const headers = ['ETag', etag, 'Cache-Control', `private, max-age=${Math.floor(leftMs / 1000)}`]
  if (matchesEtag(incoming.headers['if-none-match'], etag))
    return { status: 304, headers, body: '' }
  headers.push('Content-Type', 'image/svg+xml; charset=utf-8')
  // Opened by itself, a picture must not run or load anything.
  headers.push('Content-Security-Policy', "default-src 'none'; style-src 'unsafe-inline'")
  return { status: 200, headers, body: svg }
}

function charts({ routes, chains, colors }: ChartDeps): PictureKind {
  const ask = askRoutes(routes)
  const own = {
    period: choice(['7d', '30d', '90d', '365d', 'all'], '30d'),
    theme: choice(['auto', 'light', 'dark'], 'auto'),
  }
  return {
    path: '/charts/{file}',
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

type Choices = Readonly<Record<string, Pick<Parameter<unknown>, 'in' | 'parse'>>>

function pictureOf(name: string, choices: Choices, incoming: Incoming): Picture | Refusal {
  const values = parseParameters(choices, incoming)
  if (isRefusal(values)) return values
  const query = Object.entries(values.effective).map(([key, value]) => [key, String(value)])
  return { name, query: Object.fromEntries(query) }
}

/** Those of these names that the route has. */
function parametersOf(
  routes: readonly Route[],
  operationId: string,
  names: readonly string[],
): Choices {
  const { parameters = {} } = routes.find((route) => route.operationId === operationId) ?? {}
  return Object.fromEntries(Object.entries(parameters).filter(([name]) => names.includes(name)))
}

function nameOf(incoming: Incoming, known: readonly string[]): string | Refusal {
  const name = /^(.+)\.svg$/.exec(incoming.path.file ?? '')?.[1]
  if (name !== undefined && known.includes(name)) return name
  return refuse('not_found', `there are ${known.map((each) => `${each}.svg`).join(', ')}`)
}

function choice(allowed: readonly string[], otherwise: string): Choices[string] {
  return {
    in: 'query',
    parse(raw = otherwise) {
      if (allowed.includes(raw)) return parsed(raw, raw)
      return { ok: false, reason: `must be one of ${allowed.join(', ')}`, allowed }
    },
  }
}
