import { hash } from 'node:crypto'
import { LRUCache } from 'lru-cache'
import type { Page } from '#api/outside-routes.ts'
import { type Refusal, refuse } from '#domain/refusal.ts'
import { matchesEtag } from '#http/etag.ts'
import type { Incoming, Outgoing } from '#http/exchange.ts'
import { type Ask, AskRefused } from '#route/ask-routes.ts'
import { drawBadge } from './chart/badge.ts'
import { CHART_NAMES, readChart } from './chart/charts.ts'
import { drawChart, type Theme } from './chart/draw-chart.ts'
import { dollars, short } from './chart/format.ts'
import type { SiteColors } from './theme.ts'

const PERIODS = ['7d', '30d', '90d', '365d', 'all']
const THEMES = ['auto', 'light', 'dark']

/** A picture is drawn at most once a minute, however often it is fetched. */
const KEPT_MS = 60_000

/** Pictures of about 30 kB. */
const KEPT_MAX = 300

interface Drawn {
  readonly svg: string
  readonly etag: string
}

export interface ChartDeps {
  readonly ask: Ask
  readonly chains: readonly string[]
  readonly colors: SiteColors
}

/** /charts/{name}.svg and /badges/{name}.svg. */
export function chartPages(deps: ChartDeps): readonly Page[] {
  const kept = new LRUCache<string, Promise<Drawn | Refusal>>({ max: KEPT_MAX, ttl: KEPT_MS })
  const page = (path: string, draw: (incoming: Incoming) => Promise<string> | Refusal): Page => ({
    path,
    async read(incoming) {
      const key = keyOf(path, incoming)
      let made = kept.get(key)
      if (made === undefined) {
        made = drawn(draw(incoming))
        kept.set(key, made)
        // A refusal may end soon, and its query may be anything.
        const forget = () => kept.delete(key)
        made.then((result) => 'svg' in result || forget(), forget)
      }
      const result = await made
      return 'svg' in result ? toOutgoing(incoming, result) : result
    },
  })
  return [
    page('/charts/{file}', (incoming) => chartOf(deps, incoming)),
    page('/badges/{file}', (incoming) => badgeOf(deps, incoming)),
  ]
}

async function drawn(drawing: Promise<string> | Refusal): Promise<Drawn | Refusal> {
  if ('kind' in drawing) return drawing
  try {
    const svg = await drawing
    return { svg, etag: `W/"${hash('sha256', svg, 'base64url').slice(0, 22)}"` }
  } catch (error) {
    if (error instanceof AskRefused) return error.refusal
    throw error
  }
}

/** Only what a picture depends on, so that no other parameter makes it be drawn again. */
function keyOf(path: string, { path: { file = '' }, query }: Incoming): string {
  const values = ['period', 'theme', 'token', 'chain'].map((name) => query.get(name)?.[0] ?? '')
  return JSON.stringify([path, file, ...values.map((value) => value.toLowerCase())])
}

function toOutgoing(incoming: Incoming, { svg, etag }: Drawn): Outgoing {
  const headers = ['ETag', etag, 'Cache-Control', `private, max-age=${KEPT_MS / 1000}`]
  if (matchesEtag(incoming.headers['if-none-match'], etag))
    return { status: 304, headers, body: '' }
  headers.push('Content-Type', 'image/svg+xml; charset=utf-8')
  // Opened by itself, a picture must not run or load anything.
  headers.push('Content-Security-Policy', "default-src 'none'; style-src 'unsafe-inline'")
  return { status: 200, headers, body: svg }
}

function chartOf(deps: ChartDeps, incoming: Incoming): Promise<string> | Refusal {
  const name = nameOf(incoming, CHART_NAMES)
  if (typeof name !== 'string') return name
  const period = choice(incoming, 'period', PERIODS, '30d')
  if (typeof period !== 'string') return period
  const theme = choice(incoming, 'theme', THEMES, 'auto')
  if (typeof theme !== 'string') return theme
  const token = incoming.query.get('token')?.[0]
  const chain = incoming.query.get('chain')?.[0]
  const query = { period, ...(token && { token }), ...(chain && { chain }) }
  return readChart(deps, name, query).then((chart) => drawChart(chart, theme as Theme, deps.colors))
}

const BADGES = ['burned', 'holders', 'price', 'dividends', 'supply']

interface Stats {
  readonly totalBurned: string
  readonly circulatingSupply: string
  readonly holderCount: number
  readonly lifetimeDividendsUsdAtPayout: number | null
  readonly tokens: readonly {
    readonly symbol: string
    readonly totalBurned: string
    readonly circulatingSupply: string
    readonly holderCount: number
    readonly priceUsd: number | null
  }[]
}

function badgeOf({ ask }: ChartDeps, incoming: Incoming): Promise<string> | Refusal {
  const name = nameOf(incoming, BADGES)
  if (typeof name !== 'string') return name
  const symbol = incoming.query.get('token')?.[0]
  return ask('getStats').then((body) => {
    const { data } = body as { readonly data: Stats }
    const token =
      symbol === undefined
        ? data.tokens[0]
        : data.tokens.find((each) => each.symbol.toLowerCase() === symbol.toLowerCase())
    if (token === undefined)
      throw new AskRefused(
        refuse(
          'invalid_parameter',
          `token must be one of ${data.tokens.map((each) => each.symbol).join(', ')}`,
        ),
      )
    const paid = data.lifetimeDividendsUsdAtPayout
    const values: Readonly<Record<string, string>> = {
      burned: `${short(Number(token.totalBurned))} ${token.symbol}`,
      supply: `${short(Number(token.circulatingSupply))} ${token.symbol}`,
      holders: token.holderCount.toLocaleString('en'),
      price: token.priceUsd === null ? 'no price' : dollars(token.priceUsd),
      dividends: paid === null ? 'no price' : dollars(paid),
    }
    const label = name === 'price' ? token.symbol : name
    return drawBadge(label, values[name] ?? '')
  })
}

function nameOf(incoming: Incoming, known: readonly string[]): string | Refusal {
  const name = /^(.+)\.svg$/.exec(incoming.path.file ?? '')?.[1]
  if (name !== undefined && known.includes(name)) return name
  return refuse('not_found', `there are ${known.map((each) => `${each}.svg`).join(', ')}`)
}

function choice(
  incoming: Incoming,
  name: string,
  allowed: readonly string[],
  otherwise: string,
): string | Refusal {
  const [value = otherwise] = incoming.query.get(name) ?? []
  if (allowed.includes(value)) return value
  const reason = `must be one of ${allowed.join(', ')}`
  return refuse('invalid_parameter', `${name} ${reason}`, {
    errors: [{ in: 'query', name, reason, allowed }],
  })
}
