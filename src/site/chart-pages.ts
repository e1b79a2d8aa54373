import type { Static } from 'typebox'
import type { Ask, Reply } from '#api/examples.ts'
import type { Page } from '#api/pages.ts'
import { isRefusal, refuse } from '#base/refusal.ts'
import { escapeMarkup } from '#base/text.ts'
import type { Context } from '#context.ts'
import type { statsShape } from '#data/stats/stats.ts'
import { findToken } from '#ecosystem/priced-token.ts'
import { CHART_NAMES, describeSource, readChart } from './chart/charts.ts'
import { drawChart, type Theme, themes } from './chart/draw-chart.ts'
import { dollars, short } from './chart/format.ts'
import { type PictureKind, parseName, pickQuery, picturePage } from './picture-page.ts'

/** Serves /charts/{name}.svg and /badges/{name}.svg. */
export function chartPages(ctx: Context, ask: Ask): readonly Page[] {
  return [charts(ctx, ask), badges(ctx, ask)].map((kind) => picturePage(ctx.clock, kind))
}

const CHOICES: readonly (readonly [name: string, allowed: readonly (string | undefined)[]])[] = [
  ['period', ['7d', '30d', '90d', '365d', 'all']],
  ['theme', themes],
]

const SVG = 'image/svg+xml; charset=utf-8'

function charts({ ecosystem }: Context, ask: Ask): PictureKind {
  return {
    path: '/charts/{file}',
    type: SVG,
    read(incoming) {
      const name = parseName(incoming, CHART_NAMES)
      if (isRefusal(name)) return name
      const query = pickQuery(incoming, ['period', 'token', 'chain', 'theme'])
      for (const [member, allowed] of CHOICES)
        if (!allowed.includes(query[member] ?? allowed[0]))
          return refuse('invalid_parameter', `${member} must be one of ${allowed.join(', ')}`)
      return { name, query }
    },
    async draw({ name, query: { theme = 'auto', ...query } }) {
      const chart = await readChart(ecosystem, ask, { name, query: { period: '30d', ...query } })
      return drawChart(chart, theme as Theme, ecosystem.service.colors)
    },
  }
}

const BADGES = ['burned', 'holders', 'price', 'dividends', 'supply']

function badges({ ecosystem }: Context, ask: Ask): PictureKind {
  return {
    path: '/badges/{file}',
    type: SVG,
    read(incoming) {
      const name = parseName(incoming, BADGES)
      if (isRefusal(name)) return name
      const { token: symbol = ecosystem.primary.symbol } = pickQuery(incoming, ['token'])
      const token = findToken(ecosystem.tokens, symbol)
      if (token !== undefined) return { name, query: { token: token.symbol } }
      return refuse('invalid_parameter', 'token is not a symbol of this service')
    },
    async draw({ name, query }) {
      const { data, meta } = (await ask('getStats')) as Reply<typeof statsShape>
      const isStale = meta.chains.some(({ status }) => status === 'stale')
      return drawBadge({
        label: name === 'price' ? (query.token ?? name) : name,
        value: badgeValue(name, data, query.token) + (isStale ? ', stale' : ''),
        title: describeSource(meta),
      })
    },
  }
}

function badgeValue(
  name: string,
  { tokens, ...stats }: Static<typeof statsShape>,
  symbol: string | undefined,
): string {
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

/** Average width in browsers' default sans at 12 px; a badge may be slightly too wide. */
const CHARACTER_WIDTH = 7.2
const BOLD_WIDTH = 8.6
const PADDING = 10

interface Badge {
  readonly label: string
  readonly value: string
  readonly title: string
}

/** Draws a badge of 28 px height for a README. */
function drawBadge({ label, value, title }: Badge): string {
  const left = Math.ceil(label.length * CHARACTER_WIDTH + 2 * PADDING)
  const right = Math.ceil(value.length * BOLD_WIDTH + 2 * PADDING)
  const width = left + right
  const text = (x: number, fill: string, content: string, weight: number) =>
    `<text x="${x}" y="18.5" fill="${fill}" font-weight="${weight}" text-anchor="middle">${escapeMarkup(content)}</text>`
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="28" viewBox="0 0 ${width} 28" role="img" aria-label="${escapeMarkup(`${label}: ${value}`)}" font-family="Verdana,DejaVu Sans,sans-serif" font-size="12">
<title>${escapeMarkup(title)}</title>
<rect x=".5" y=".5" width="${width - 1}" height="27" rx="2" fill="#fcfdfa" stroke="#17201c"/>
<path d="M0 2a2 2 0 0 1 2-2h${left - 2}v28h-${left - 2}a2 2 0 0 1-2-2z" fill="#17201c"/>
${text(left / 2, '#f5f6f2', label, 400)}
${text(left + right / 2, '#17201c', value, 600)}
</svg>
`
}
