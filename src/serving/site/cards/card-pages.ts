import { type Address, parseAddress } from '#domain/address.ts'
import { isRefusal, refuse } from '#domain/refusal.ts'
import { askRoutes } from '#route/ask-routes.ts'
import type { Page } from '#serving/api/outside-routes.ts'
import { CHART_NAMES, readChart, routeOfChart } from '../chart/charts.ts'
import { percent } from '../chart/format.ts'
import type { ChartDeps } from '../chart-pages.ts'
import {
  choice,
  nameOf,
  type PictureKind,
  parametersOf,
  pictureOf,
  picturePage,
} from '../picture-page.ts'
import type { Wallets } from '../wallet/wallets.ts'
import { drawChartCard, drawFigureCard, type FigureCard, whole } from './draw-card.ts'
import { toPng } from './to-png.ts'
import { drawWalletCard } from './wallet-card.ts'

export interface CardDeps extends ChartDeps {
  readonly wallets: Wallets
}

/** Serves /cards/{name}.png: pictures of 1200×630 for links in Discord, X and Telegram, which draw no SVG. */
export function cardPage(deps: CardDeps): Page {
  return picturePage(deps.clock, cardKind(deps))
}

const REGISTER = 'register'
const WALLET = 'wallet'

/** The wallet of `wallet-0x….png`. */
function walletIn(file = ''): Address | undefined {
  const name = /^wallet-(0x[0-9a-f]{40})\.png$/i.exec(file)?.[1]
  return name === undefined ? undefined : parseAddress(name)
}

function tooMany(waitMs: number) {
  return refuse('rate_limited', 'pictures of 60 different wallets an hour are drawn', {
    retryAfterSeconds: Math.max(1, Math.ceil(waitMs / 1000)),
  })
}

interface Burns {
  readonly token: string
  readonly totalBurned: string | null
  readonly pctOfMinted: number | null
  readonly last24h: { readonly burned: string | null }
}

function cardKind({ routes, chains, colors, wallets, clock }: CardDeps): PictureKind {
  const ask = askRoutes(routes)
  const period = choice(['7d', '30d', '90d', '365d', 'all'], '90d')
  return {
    path: '/cards/{file}',
    type: 'image/png',
    read(incoming) {
      const wallet = walletIn(incoming.path.file)
      if (wallet !== undefined) {
        const openUnix = wallets.open(incoming, wallet)
        if (openUnix !== undefined) return tooMany(openUnix * 1000 - clock())
        return { name: WALLET, query: { wallet } }
      }
      const name = nameOf(incoming, [REGISTER, ...CHART_NAMES], '.png')
      if (isRefusal(name)) return name
      if (name === REGISTER) return { name, query: {} }
      const shared = parametersOf(routes, routeOfChart(name), ['token', 'chain'])
      return pictureOf(name, { period, ...shared }, incoming)
    },
    async draw({ name, query }) {
      const wallet = parseAddress(query.wallet ?? '')
      if (wallet !== undefined) return toPng(drawWalletCard(await wallets.figures(wallet), colors))
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
      ...(pctOfMinted === null ? [] : [[percent(pctOfMinted), 'of all ever minted'] as const]),
      ...(last24h.burned === null ? [] : [[whole(last24h.burned), 'in the last day'] as const]),
    ],
  }
}
