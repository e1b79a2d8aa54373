import type { Ask } from '#api/examples.ts'
import type { Page } from '#api/pages.ts'
import { type Address, parseAddress } from '#base/address.ts'
import { refuse } from '#base/refusal.ts'
import type { Context } from '#context.ts'
import type { WalletFigures, Wallets } from '#site/wallet/wallet-figures.ts'
import { dollars, ordinal, percent } from '../chart/format.ts'
import { picturePage } from '../picture-page.ts'
import { type Card, drawCard, type Fact } from './draw-card.ts'

/** Serves register.png and wallet-0x….png: 1200×630, for links in Discord, X and Telegram, which draw no SVG. */
export function cardPage({ clock }: Context, ask: Ask, wallets: Wallets): Page {
  return picturePage(clock, {
    path: '/cards/{file}',
    type: 'image/png',
    read(incoming) {
      const { file = '' } = incoming.path
      if (file === 'register.png') return { name: file, query: {} }
      const wallet = walletIn(file)
      if (wallet === undefined)
        return refuse('not_found', 'no such card; there are register.png and wallet-0x….png')
      const openUnix = wallets.open(incoming, wallet)
      return openUnix === undefined
        ? { name: 'wallet', query: { wallet } }
        : tooMany(openUnix * 1000 - clock())
    },
    async draw({ query }) {
      const wallet = parseAddress(query.wallet ?? '')
      const card =
        wallet === undefined
          ? burnCard((await ask('getBurnTotals')) as Burns)
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
  return refuse('rate_limited', '60 wallets within an hour are the limit; wait', {
    retryAfterSeconds: Math.max(1, Math.ceil(waitMs / 1000)),
  })
}

interface Burns {
  readonly data: {
    readonly token: string
    readonly totalBurned: string | null
    readonly pctOfMinted: number | null
    readonly last24h: { readonly burned: string | null }
  }
  readonly meta: { readonly asOfUnix: number }
}

/** Leaves out unknown figures. */
function burnCard({ data, meta }: Burns): Card {
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
