import type { PageColors } from '#domain/page-settings.ts'
import { ordinal, percent } from '../chart/format.ts'
import { lightColors } from '../theme.ts'
import type { WalletFigures } from '../wallet/shapes.ts'
import type { Card, Line } from './card.ts'
import { framed, LEFT, RIGHT, sentenceOf, whole } from './draw-card.ts'

const CELL_WIDTH = 326

type Cell = readonly [name: string, figure: string]

/** What a wallet holds, and below it what it did; what is not known is left out. */
export function drawWalletCard(figures: WalletFigures, colors: PageColors): Card {
  const own = lightColors(colors)
  const { address, held, madeUnix, source } = figures
  const [first] = held
  const inAll = first?.inAll ?? null
  const title = `${first?.token ?? ''} of wallet ${address.slice(0, 6)}…${address.slice(-4)}`
  const figure = inAll === null ? 'not known yet' : whole(inAll.balance)
  const of = first?.holderCount?.toLocaleString('en')
  const holders = of === undefined ? 'among holders' : `of ${of} holders`
  const facts = [
    ...(inAll?.rank ? ([[ordinal(inAll.rank), holders]] as const) : []),
    ...(inAll?.sharePct ? ([[percent(inAll.sharePct, 4), 'of the supply']] as const) : []),
  ]
  const cells = cellsOf(figures)
  const line = (x: number, y: number, size: number, text: string, isBold = false): Line => ({
    ...{ x, y, size, width: CELL_WIDTH - 34 },
    runs: [{ text, fill: isBold ? own.ink : own.faint, isBold }],
  })
  const edges = cells.slice(1).map((_, index) => LEFT - 30 + (index + 1) * CELL_WIDTH)
  const upright = edges.map(
    (x) => `<path d="M${x} 388V530" stroke="${own.rule}" stroke-width="2"/>`,
  )
  return framed(
    own,
    { unix: madeUnix, source },
    {
      shapes: `<path d="M${LEFT} 370H${RIGHT}M${LEFT} 546H${RIGHT}M${LEFT} 552H${RIGHT}" stroke="${own.ink}" stroke-width="2"/>${upright.join('')}`,
      lines: [
        { x: LEFT, y: 104, size: 42, runs: [{ text: title, fill: own.faint, isBold: true }] },
        { x: LEFT, y: 264, size: 172, runs: [{ text: figure, fill: own.ink, isBold: true }] },
        { x: LEFT, y: 332, size: 38, runs: sentenceOf(facts, own) },
        ...cells.flatMap(([name, value], index) => {
          const x = LEFT + index * CELL_WIDTH
          return [line(x, 424, 34, name), line(x, 494, 54, value, true)]
        }),
      ],
    },
  )
}

function cellsOf({ claims, digger, done }: WalletFigures): readonly Cell[] {
  const burned = done.burn?.isWhole ? done.burn.tokens[0] : undefined
  const digs = done.dig?.isWhole ? done.dig.tokens.reduce((sum, { count }) => sum + count, 0) : null
  const dug = digger?.digCount ?? digs
  const paid = claims?.usdAtClaim ?? null
  return [
    ...(dug === null ? [] : [['Graves dug', dug.toLocaleString('en')] as const]),
    ...(burned === undefined ? [] : [[`${burned.token} burned`, whole(burned.amount)] as const]),
    ...(paid === null ? [] : [['Dividends', `$${dollars(paid)}`] as const]),
  ]
}

/** Cents are cut. */
function dollars(usd: number): string {
  const cents = Math.floor(usd * 100 + 1e-6) / 100
  return cents.toLocaleString('en', { minimumFractionDigits: 2, maximumFractionDigits: 2 })
}
