import type { Static } from 'typebox'
import type { Ask, Reply } from '#api/examples.ts'
import type { serviceShape } from '#api/meta-route.ts'
import { type Address, showAddress } from '#base/address.ts'
import { TtlCache } from '#base/async.ts'
import { formatDecimal } from '#base/money.ts'
import { type Clock, lastDays, MINUTE_MS, startOfDay, unixNow } from '#base/time.ts'
import type { Context } from '#context.ts'
import { cards } from '#data/cards.ts'
import type { claimsShape } from '#data/dividends/endpoints.ts'
import type { leaderRow } from '#data/grave-digs/endpoints.ts'
import type { holderShape } from '#data/holders/endpoints.ts'
import type { metaSchema, PageMeta } from '#data/meta.ts'
import type { statsShape } from '#data/stats/stats.ts'
import type { Call } from '#route.ts'
import { describeSource } from '../chart/charts.ts'
import type { EventCard } from '../event-card.ts'
import {
  isInTime,
  known,
  NEWEST_ROWS,
  type NewestRow,
  pickNewest,
  readRows,
  SNAPSHOT_DAYS,
} from '../snapshot.ts'

/** Figures of a wallet's page and picture. */
export type WalletFigures = Awaited<ReturnType<typeof walletFigures>>

/** A token that the wallet may hold. */
export type WalletHolding = Awaited<ReturnType<typeof readHolding>>

export type Balance = Static<typeof holderShape>

/** Sums of the newest events of one kind. */
export type Done = ReturnType<typeof sumDone>

type Service = Static<typeof serviceShape>

/** Data for a wallet's page. */
export interface WalletShown {
  /** Null while the register fails, or once the caller has opened too many wallets. */
  readonly figures: WalletFigures | null
  /** When the caller may open another wallet; null if it may now. */
  readonly openUnix: number | null
}

/** The sums use as many rows as a list returns at once. */
const ROWS_MAX = 100

/** Reads a wallet's holdings and activity from the service's own routes; null for what is unknown now. */
export async function walletFigures(
  ask: Ask,
  { wallet, nowUnix }: { readonly wallet: Address; readonly nowUnix: number },
) {
  const address = showAddress(wallet)
  const service = (await ask('getMeta')) as Service
  const { data: stats, meta } = (await ask('getStats')) as Reply<typeof statsShape>
  const tracked = service.tokens.filter(({ role }) => role !== 'reward')
  const readEvents = async ({ noun, list }: EventCard) => {
    const body = await known<List>(ask(list.operationId, { limit: String(ROWS_MAX), address }))
    const done = body && sumDone(body, service, nowUnix)
    return { noun, done, rows: (body?.data ?? []).map((row) => ({ entry: noun, ...row })) }
  }
  const [held, claims, diggers, gate, ...events] = await Promise.all([
    Promise.all(tracked.map((token) => readHolding(ask, token, stats, address))),
    known<Reply<typeof claimsShape>>(
      ask('getWalletClaims', { limit: String(NEWEST_ROWS) }, { address }),
    ),
    readRows<Static<typeof leaderRow>>(ask, 'rankGraveDiggers', { limit: String(ROWS_MAX) }),
    // Without a gate this route does not exist.
    service.notConfigured.includes('gate') ? null : known<object>(ask('getGate', { address })),
    ...cards.map(readEvents),
  ])
  const done = Object.fromEntries(events.map(({ noun, done }) => [noun, done]))
  const digger = diggers.find((each) => each.address === address) ?? null
  return {
    madeUnix: nowUnix,
    address,
    source: describeSource(meta),
    held,
    claims: claims?.data.summary ?? null,
    /** The wallet's activity, by noun of the events. */
    done,
    /** Null if the wallet is not among the first 100 diggers. */
    digger: digger && { ...digger, digCount: countDigs(done.dig) ?? digger.digCount },
    gate,
    newest: pickNewest(events.map(({ rows }) => rows)),
  }
}

/** The ranking covers one token only; null if not all digs are known. */
function countDigs(digs: Done | null | undefined): number | null {
  if (!digs?.isWhole) return null
  return digs.tokens.reduce((sum, { count }) => sum + count, 0)
}

async function readHolding(
  ask: Ask,
  { symbol, addresses }: Service['tokens'][number],
  stats: Static<typeof statsShape>,
  address: string,
) {
  const own = async (chain: string) => {
    const asking = ask('getHolder', { token: symbol, chain }, { address })
    return (await known<Reply<typeof holderShape>>(asking))?.data ?? null
  }
  const shown = stats.tokens.find((each) => each.symbol === symbol)
  const chains = Object.keys(addresses)
  const [inAll = null, ...byChain] = await Promise.all(['all', ...chains].map(own))
  return {
    token: symbol,
    priceUsd: stats.prices[symbol]?.usd ?? null,
    change24hPct: stats.prices[symbol]?.change24hPct ?? null,
    holderCount: shown?.holderCount ?? null,
    priceUnknown: shown?.priceUnknown ?? null,
    inAll,
    /** `own` is null while the chain's history is read. */
    chains: chains.map((chain, index) => ({ chain, own: byChain[index] ?? null })),
  }
}

interface Row extends NewestRow {
  readonly token: string
  readonly amountRaw: string
  readonly amountUsdAtEvent: number | null
  /** Only dividend rows have it. */
  readonly kind?: string
}

interface List {
  readonly data: readonly Row[]
  readonly meta: Static<typeof metaSchema> & { readonly page: PageMeta }
}

function sumDone({ data, meta }: List, service: Service, nowUnix: number) {
  // Drops distributions: they put money into a pot, and the wallet that they name was not paid.
  const rows = data.filter(({ kind }) => kind !== 'distribution')
  const tokens = [...Map.groupBy(rows, ({ token }) => token)].map(([token, own]) => {
    const decimals = service.tokens.find(({ symbol }) => symbol === token)?.decimals ?? 18
    const sum = own.reduce((all, { amountRaw }) => all + BigInt(amountRaw), 0n)
    return { token, count: own.length, amount: formatDecimal(sum, decimals) }
  })
  const isWhole = meta.page.nextCursor === null
  const sinceUnix = isWhole ? 0 : (data.at(-1)?.timestampUnix ?? 0)
  const byDay = Map.groupBy(rows, ({ timestampUnix }) => startOfDay(timestampUnix))
  const days = lastDays(nowUnix, SNAPSHOT_DAYS).map((day) =>
    day > sinceUnix && day <= meta.asOfUnix ? (byDay.get(day) ?? []) : null,
  )
  const shown = days.flatMap((each) => each ?? [])
  return {
    /** Whether the sums include all events. */
    isWhole,
    tokens,
    /** Value at the time for each of the last 90 days, today last; null if unknown. */
    usdByDay: days.map((each) => each && sumUsd(each)),
    /** Events in these days without a price, which the values leave out. */
    unpricedCount: shown.filter(({ amountUsdAtEvent }) => amountUsdAtEvent === null).length,
  }
}

/** Null if none of the rows has a price. */
function sumUsd(rows: readonly Row[]): number | null {
  const priced = rows.flatMap(({ amountUsdAtEvent }) => amountUsdAtEvent ?? [])
  if (priced.length === 0 && rows.length > 0) return null
  return priced.reduce((sum, usd) => sum + usd, 0)
}

const KEPT_MAX = 300

const WALLETS_AN_HOUR = 60

const HOUR_MS = 3_600_000

/** Callers remembered. */
const CALLERS_MAX = 2_000

/**
 * Serves wallet figures for pages and pictures: free and at most a minute old. A caller opens a limited number of wallets
 * within an hour, because free pages must not replace paid calls.
 */
export class Wallets {
  readonly #clock: Clock
  readonly #ask: Ask
  /** Wallets by caller, from the first one's time on. */
  readonly #opened: TtlCache<Set<Address>>
  readonly #kept: TtlCache<WalletFigures>

  constructor({ clock }: Context, ask: Ask) {
    this.#clock = clock
    this.#ask = ask
    this.#opened = new TtlCache({ max: CALLERS_MAX, ttlMs: HOUR_MS, clock })
    this.#kept = new TtlCache({ max: KEPT_MAX, ttlMs: MINUTE_MS, clock })
  }

  /** Resolves to undefined if the caller may open the wallet, else to when it may, in Unix seconds. */
  async open({ addressBucket }: Call, wallet: Address): Promise<number | undefined> {
    const opened = await this.#opened.get(addressBucket, async () => new Set())
    if (opened.size >= WALLETS_AN_HOUR && !opened.has(wallet))
      return Math.ceil((this.#clock() + this.#opened.leftMs(addressBucket)) / 1_000)
    opened.add(wallet)
    return undefined
  }

  figures(wallet: Address): Promise<WalletFigures> {
    const nowUnix = unixNow(this.#clock)
    return this.#kept.get(wallet, () => walletFigures(this.#ask, { wallet, nowUnix }))
  }

  async shown(call: Call, wallet: Address): Promise<WalletShown> {
    const openUnix = (await this.open(call, wallet)) ?? null
    if (openUnix !== null) return { figures: null, openUnix }
    const reading = this.figures(wallet).catch(() => null)
    return { figures: (await isInTime(reading)) ? await reading : null, openUnix }
  }
}
