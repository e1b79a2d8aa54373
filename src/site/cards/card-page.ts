import { join } from 'node:path'
import { renderAsync } from '@resvg/resvg-js'
import type { Ask, Reply } from '#api/examples.ts'
import type { Page } from '#api/pages.ts'
import { type Address, parseAddress } from '#base/address.ts'
import { PACKAGE_ROOT } from '#base/package-root.ts'
import { refuse } from '#base/refusal.ts'
import { escapeMarkup } from '#base/text.ts'
import type { Context } from '#context.ts'
import type { totalShape } from '#data/burns/endpoints.ts'
import type { WalletFigures, Wallets } from '#site/wallet/wallet-figures.ts'
import { dayName, dollars, ordinal, percent } from '../chart/format.ts'
import { picturePage } from '../picture-page.ts'
import { CARD_COLORS } from '../theme.ts'

/** Serves register.png and wallet-0x….png: 1200×630, for links in Discord, X and Telegram, which draw no SVG. */
export function cardPage({ clock }: Context, ask: Ask, wallets: Wallets): Page {
  return picturePage(clock, {
    path: '/cards/{file}',
    type: 'image/png',
    async read(incoming) {
      const { file = '' } = incoming.path
      if (file === 'register.png') return { name: file, query: {} }
      const wallet = walletIn(file)
      if (wallet === undefined)
        return refuse('not_found', 'no such card; there are register.png and wallet-0x….png')
      const openUnix = await wallets.open(incoming, wallet)
      return openUnix === undefined
        ? { name: 'wallet', query: { wallet } }
        : tooMany(openUnix * 1000 - clock())
    },
    async draw({ query }) {
      const wallet = parseAddress(query.wallet ?? '')
      const card =
        wallet === undefined
          ? burnCard((await ask('getBurnTotals')) as Reply<typeof totalShape>)
          : walletCard(await wallets.figures(wallet))
      return drawCard(card)
    },
  })
}

function walletIn(file: string): Address | undefined {
  const name = /^wallet-(0x[0-9a-f]{40})\.png$/i.exec(file)?.[1]
  return name === undefined ? undefined : parseAddress(name)
}

function tooMany(waitMs: number) {
  return refuse('rate_limited', '60 wallets within an hour are the limit; try again later', {
    retryAfterSeconds: Math.max(1, Math.ceil(waitMs / 1000)),
  })
}

/** Leaves out unknown figures. */
function burnCard({ data, meta }: Reply<typeof totalShape>): Card {
  const { token, totalBurned, pctOfMinted, last24h } = data
  return {
    title: `${token} burned to date`,
    figure: whole(totalBurned),
    facts: [
      ...fact(pctOfMinted, (pct) => [percent(pct), 'of all ever minted']),
      ...fact(last24h.burned, (burned) => [whole(burned), 'in the last day']),
    ],
    unix: meta.asOfUnix,
  }
}

/** Shows what a wallet holds and was paid. */
function walletCard({ address, held, claims, madeUnix }: WalletFigures): Card {
  const [first] = held
  const inAll = first?.inAll ?? null
  return {
    title: `${first?.token ?? ''} of wallet ${address.slice(0, 6)}…${address.slice(-4)}`,
    figure: whole(inAll?.balance ?? null),
    facts: [
      ...fact(inAll?.rank, (rank) => [ordinal(rank), 'among holders']),
      ...fact(inAll?.sharePct, (pct) => [percent(pct, 4), 'of the supply']),
      ...fact(claims?.usdAtClaim, (usd) => [dollars(usd), 'of dividends']),
    ],
    unix: madeUnix,
  }
}

function fact<T>(value: T | null | undefined, describe: (value: T) => Fact): readonly Fact[] {
  return value === null || value === undefined ? [] : [describe(value)]
}

/** Drops the decimals of an amount. */
function whole(amount: string | null): string {
  if (amount === null) return 'not known yet'
  return BigInt(amount.split('.')[0] ?? 0).toLocaleString('en')
}

export type Fact = readonly [figure: string, what: string]

/** A figure in large digits, and a sentence of facts below it. */
interface Card {
  readonly title: string
  readonly figure: string
  readonly facts: readonly Fact[]
  readonly unix: number
}

/** The page's typeface with lining figures, cut down to Latin. */
const FONTS = [400, 600].map((weight) => join(PACKAGE_ROOT, `fonts/grenze-${weight}.ttf`))

const LEFT = 196
const WIDTH_MAX = 944

/** Character widths as a share of the font size: of a digit, and on average of words. */
const DIGIT_WIDTH = 0.5
const LETTER_WIDTH = 0.42

/** Draws a PNG of 1200×630 pixels, which networks show uncropped (Open Graph's usual size). */
async function drawCard({ title, figure, facts, unix }: Card): Promise<Buffer> {
  const { paper, ink, faint } = CARD_COLORS
  const bold = (text: string) =>
    `<tspan font-weight="600" fill="${ink}">${escapeMarkup(text)}</tspan>`
  const line = (y: number, size: number, text: string, drawn: string, width = LETTER_WIDTH) => {
    const fitting = Math.min(size, WIDTH_MAX / (text.length * width))
    return `<text x="${LEFT}" y="${y}" font-size="${fitting}" fill="${faint}">${drawn}</text>`
  }
  const sentence = facts.map(([value, what]) => `${value} ${what}`).join(', ')
  const drawnFacts = facts.map(([value, what]) => `${bold(value)} ${escapeMarkup(what)}`)
  const date = dayName(unix, true)
  const svg = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 1200 630" width="1200" height="630" font-family="Grenze">
<rect width="100%" height="100%" fill="${paper}"/>
<path d="M150 0V630M156 0V630" stroke="#d9a5a5" stroke-width="2"/>
<g transform="translate(60 53) scale(2.15)" fill="none"><path d="M2 30V14C2 8 6.6 3.4 12.5.9 18.4 3.4 23 8 23 14V30Z" stroke="${ink}" stroke-width="2"/><path d="M6.5 14.5h12M6.5 19.5h12" stroke="${ink}" stroke-width="1.8"/><path d="M6.5 24.5h7.5" stroke="#a1232d" stroke-width="2.2"/></g>
${line(104, 42, title, bold(title))}
${line(338, 212, figure, bold(figure), DIGIT_WIDTH)}
${line(434, 40, sentence, drawnFacts.join(', '))}
${line(589, 30, date, date)}
</svg>`
  const image = await renderAsync(svg, { font: { loadSystemFonts: false, fontFiles: FONTS } })
  return image.asPng()
}
