import { isRefusal } from '#domain/refusal.ts'
import { askRoutes } from '#route/ask-routes.ts'
import type { Page } from '#serving/api/outside-routes.ts'
import { CHART_NAMES, readChart, routeOfChart } from '../chart/charts.ts'
import type { ChartDeps } from '../chart-pages.ts'
import {
  choice,
  nameOf,
  type PictureKind,
  parametersOf,
  pictureOf,
  picturePage,
} from '../picture-page.ts'
import { drawChartCard, drawFigureCard, type FigureCard } from './draw-card.ts'
import { toPng } from './to-png.ts'

/** Serves /cards/{name}.png: pictures of 1200×630 for links in Discord, X and Telegram, which draw no SVG. */
export function cardPage(deps: ChartDeps): Page {
  return picturePage(deps.clock, cardKind(deps))
}

const REGISTER = 'register'

interface Burns {
  readonly token: string
  readonly totalBurned: string | null
  readonly pctOfMinted: number | null
  readonly last24h: { readonly burned: string | null }
}

function cardKind({ routes, chains, colors }: ChartDeps): PictureKind {
  const ask = askRoutes(routes)
  const period = choice(['7d', '30d', '90d', '365d', 'all'], '90d')
  return {
    path: '/cards/{file}',
    type: 'image/png',
    read(incoming) {
      const name = nameOf(incoming, [REGISTER, ...CHART_NAMES], '.png')
      if (isRefusal(name)) return name
      if (name === REGISTER) return { name, query: {} }
      const shared = parametersOf(routes, routeOfChart(name), ['token', 'chain'])
      return pictureOf(name, { period, ...shared }, incoming)
    },
    async draw({ name, query }) {
      if (name !== REGISTER)
        return toPng(drawChartCard(await readChart({ ask, chains }, name, query), colors))
      const chart = await readChart({ ask, chains }, 'burns', { period: '90d' })
      const { data } = (await ask('getBurnTotals')) as { readonly data: Burns }
      return toPng(drawFigureCard({ ...wordsOf(data), chart }, colors))
    },
  }
}

/** What is not known is left out. */
function wordsOf({ token, totalBurned, pctOfMinted, last24h }: Burns): Omit<FigureCard, 'chart'> {
  return {
    title: `${token} burned to date`,
    figure: totalBurned === null ? 'not known yet' : whole(totalBurned),
    facts: [
      ...(pctOfMinted === null ? [] : [[cutPercent(pctOfMinted), 'of all ever minted'] as const]),
      ...(last24h.burned === null ? [] : [[whole(last24h.burned), 'in the last day'] as const]),
    ],
  }
}

function whole(amount: string): string {
  return BigInt(amount.split('.')[0] ?? 0).toLocaleString('en')
}

function cutPercent(percent: number): string {
  return `${(Math.floor(percent * 100) / 100).toFixed(2)}%`
}
