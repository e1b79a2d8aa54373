import { askRoutes } from '#api/examples.ts'
import { jsonPage, type Page, scriptedHeaders, staticPage, textPage } from '#api/pages.ts'
import { parseAddress, showAddress } from '#base/address.ts'
import { TtlCache } from '#base/async.ts'
import { isRefusal, type Refusal, refuse } from '#base/refusal.ts'
import { MINUTE_MS } from '#base/time.ts'
import type { Context } from '#context.ts'
import { type Call, type Route, TEXT_TYPE } from '#route.ts'
import { Wallets } from '#site/wallet/wallet-figures.ts'
import { assetPages, CONSOLE_FOLDER, readConsole } from './assets.ts'
import { cardPage } from './cards/card-page.ts'
import { dollars, percent, short } from './chart/format.ts'
import { chartPages } from './chart-pages.ts'
import { fillShell, type Head, MARK } from './shell.ts'
import {
  isInTime,
  readSeries,
  type Snapshot,
  type SnapshotSeries,
  sharedSnapshot,
} from './snapshot.ts'
import { themeSheet } from './theme.ts'
import { readEntries } from './transaction.ts'

const HEADERS = { ...scriptedHeaders(), 'Cache-Control': 'private, no-cache' }

const SNAPSHOT_SECONDS = 5

/** Serves pages for people: shells, their data and files, charts and badges. Free, as all documents are. */
export function sitePages(
  ctx: Context,
  routes: readonly Route[],
  folder = CONSOLE_FOLDER,
): readonly Page[] {
  const { name, publicBaseUrl, colors } = ctx.ecosystem.service
  const ask = askRoutes(routes)
  const snapshot = sharedSnapshot(ctx, ask)
  const wallets = new Wallets(ctx, ask)
  const series = new TtlCache<SnapshotSeries>({ max: 1, ttlMs: MINUTE_MS, clock: ctx.clock })
  const readBuilt = readConsole(folder)
  const headAt = (path: string, title: string, description: string): Head => ({
    service: name,
    title,
    description,
    url: `${publicBaseUrl}${path}`,
    image: `${publicBaseUrl}/cards/register.png`,
  })
  const shell = (path: string, headOf: (incoming: Call, now: Snapshot) => Head | Refusal) =>
    textPage(path, HEADERS, async (incoming) => {
      const now = await snapshot()
      const head = headOf(incoming, now)
      if (isRefusal(head)) return head
      const built = await readBuilt()
      if (built === undefined)
        return refuse('not_found', 'the page is not built; run "node tools/build.ts"')
      const own = await head.more?.()
      const text = () => {
        const data = { ...partFor(path, now), ...own }
        const view = built.drawFirstView(data, path.split('/')[1] ?? '')
        return fillShell(built.template, { head, data, view })
      }
      return { of: own ?? now, text }
    })
  return [
    shell('/', (_, now) => headAt('/', writeTitle(ctx, now), writeDescription(ctx, now))),
    ...[...LISTS, ...FORMS].map(([path, title, what]) =>
      shell(path, () => headAt(path, `${title} · ${name}`, what)),
    ),
    shell('/wallet/{address}', (incoming) => {
      const address = parseAddress(incoming.path.address ?? '')
      if (address === undefined) return refuse('invalid_address', 'write 0x and 40 hex digits')
      const shown = showAddress(address)
      const what = `What ${shown} holds, claimed, burned and dug up.`
      return {
        ...headAt(`/wallet/${shown}`, `${shown} · ${name}`, what),
        image: `${publicBaseUrl}/cards/wallet-${shown}.png`,
        more: async () => ({ wallet: await wallets.shown(incoming, address) }),
      }
    }),
    shell('/tx/{hash}', ({ path: { hash = '' } }) => {
      if (!TX_HASH.test(hash))
        return refuse('not_found', 'not a transaction: write 0x and 64 hex digits')
      const more = async () => {
        const reading = readEntries(ctx, hash.toLowerCase()).catch(() => null)
        return { transaction: (await isInTime(reading)) ? await reading : null }
      }
      const what = 'Its burns, claims and digs.'
      return { ...headAt(`/tx/${hash}`, `Transaction · ${name}`, what), more }
    }),
    jsonPage('/snapshot.json', SNAPSHOT_SECONDS, snapshot),
    // Requested when a longer period is chosen.
    jsonPage('/series.json', 60, () => series.get('', () => readSeries(ctx, ask, 'all'))),
    ...assetPages(readBuilt),
    ...chartPages(ctx, ask),
    cardPage(ctx, ask, wallets),
    staticPage('/theme.css', 'text/css; charset=utf-8', themeSheet(colors)),
    staticPage('/favicon.ico', 'image/svg+xml', MARK),
    staticPage('/robots.txt', TEXT_TYPE, 'User-agent: *\nDisallow: /api/\n'),
    { path: '/docs', read: async () => ({ status: 302, headers: { ...REDIRECT }, body: '' }) },
  ]
}

const TX_HASH = /^0x[0-9a-f]{64}$/i

/** The full lists of the API, whose beginning is in the snapshot. */
const LISTS = [
  ['/entries', 'Entries', 'Every burn, claim and dig, newest first.'],
  ['/entries/holders', 'Top holders', 'Who holds the token, largest first.'],
  ['/entries/diggers', 'Top diggers', 'Who dug up most.'],
] as const

const FORMS = [
  ['/keys', 'API keys', 'Mint, use and top up an API key with a wallet.'],
  ['/try', 'Try the API', 'Build a request, send it and see what it costs.'],
] as const

const REDIRECT = { Location: '/scalar/v1', 'Cache-Control': 'private, max-age=300' }

function writeTitle({ ecosystem }: Context, { figures }: Snapshot): string {
  const { primary, service } = ecosystem
  const totalBurned = figures?.stats.totalBurned ?? null
  if (totalBurned === null) return service.name
  return `${short(Number(totalBurned))} ${primary.symbol} burned · ${service.name}`
}

function writeDescription({ ecosystem }: Context, { figures }: Snapshot): string {
  const chains = ecosystem.chains.map((chain) => chain.name).join(', ')
  const what = `Burns, dividends, holders and prices of ${ecosystem.primary.symbol}, read from ${chains}.`
  if (figures === null) return what
  const { burnedPct, holderCount } = figures.stats
  const { totalBurnedUsdNow } = figures.burns
  if (burnedPct === null || holderCount === null) return what
  const worth = totalBurnedUsdNow === null ? '' : `, worth ${dollars(totalBurnedUsdNow)} today`
  return `${percent(burnedPct)} burned${worth}; ${holderCount} holders. ${what}`
}

/** Only the register page carries all figures, so that other pages do not copy them. */
function partFor(path: string, { figures, ...rest }: Snapshot) {
  if (figures === null || path === '/') return { ...rest, figures }
  const { series: _, ...lists } = figures
  const isList = LISTS.some(([each]) => each === path)
  return { ...rest, figures: isList ? lists : { meta: figures.meta, newest: [] } }
}
