import { setTimeout as delay } from 'node:timers/promises'
import type { Static } from 'typebox'
import { type Ask, AskRefused, type Reply } from '#api/examples.ts'
import { type Address, showAddress } from '#base/address.ts'
import { TtlCache } from '#base/async.ts'
import type { PageWords } from '#base/page-settings.ts'
import { DAY_SECONDS, unixNow } from '#base/time.ts'
import type { Context } from '#context.ts'
import type { dayRow, totalShape } from '#data/burns/endpoints.ts'
import { cards } from '#data/cards.ts'
import { eventKinds } from '#data/kinds.ts'
import type { historyShape } from '#data/stats/history.ts'
import type { statsShape } from '#data/stats/stats.ts'
import type { Ecosystem } from '#ecosystem/ecosystem.ts'
import type { Values } from './chart/geometry.ts'

export interface Snapshot {
  /** Time when the figures were read, or, without figures, when this was made. */
  readonly madeUnix: number
  /** False if the register failed or timed out; figures are then the last ones. */
  readonly readable: boolean
  readonly service: unknown
  /** Words and labels of the ecosystem file. */
  readonly words: PageWords
  readonly labels: Readonly<Record<string, string>>
  /** Null until first read. */
  readonly figures: SnapshotFigures | null
}

type SnapshotFigures = Awaited<ReturnType<typeof readFigures>>

const AGE_MAX_MS = 5_000

/** Figures older than this are called stale. */
const STALE_SECONDS = 60

/** A hanging store must not block the page. */
const TIMEOUT_MS = 2_000

/** One snapshot for everyone, rebuilt on request once it is old. */
export function sharedSnapshot(
  ctx: Context,
  ask: Ask,
  timeoutMs = TIMEOUT_MS,
): () => Promise<Snapshot> {
  const last = new TtlCache<Snapshot>({ max: 1, ttlMs: AGE_MAX_MS, clock: ctx.clock })
  const { words } = ctx.ecosystem.service
  const labels = listLabels(ctx.ecosystem)
  let readable = true
  let known: { readonly figures: SnapshotFigures; readonly madeUnix: number } | undefined
  /** One read at a time, so that reads do not pile up on a hanging store. */
  let reading: Promise<void> | undefined
  const read = async () => {
    const madeUnix = unixNow(ctx.clock)
    try {
      known = { figures: await readFigures(ctx, ask), madeUnix }
      readable = true
    } catch (error) {
      readable = error instanceof AskRefused && error.refusal.code === 'data_not_ready'
    } finally {
      reading = undefined
    }
  }
  const make = async (): Promise<Snapshot> => {
    const service = await ask('getMeta')
    reading ??= read()
    if (!(await isInTime(reading, timeoutMs))) readable = false
    const nowUnix = unixNow(ctx.clock)
    const { figures, madeUnix } = known ?? { figures: null, madeUnix: nowUnix }
    const isOld = figures !== null && nowUnix - madeUnix >= STALE_SECONDS
    const shown = isOld ? toStale(figures, nowUnix) : figures
    return { service, words, labels, madeUnix, readable, figures: shown }
  }
  return () => last.get('', make)
}

async function readFigures(ctx: Context, ask: Ask) {
  const { data: stats, meta } = (await ask('getStats')) as Reply<typeof statsShape>
  const { data: burns } = (await ask('getBurnTotals')) as Reply<typeof totalShape>
  return {
    meta,
    stats,
    burns,
    series: await readSeries(ctx, ask, `${SNAPSHOT_DAYS}d`),
    newest: await newestOfAll(ask),
    leaders: await readRows(ask, 'rankGraveDiggers', { limit: '10' }),
    holders: await readRows(ask, 'listHolders', { limit: String(HOLDER_ROWS) }),
  }
}

/** Whether work ends in time, if it does not fail. */
export async function isInTime(work: Promise<unknown>, timeoutMs = TIMEOUT_MS): Promise<boolean> {
  const stop = new AbortController()
  const late = delay(timeoutMs, false, { signal: stop.signal, ref: false }).catch(() => false)
  try {
    return await Promise.race([work.then(() => true), late])
  } finally {
    stop.abort()
  }
}

function toStale(figures: SnapshotFigures, nowUnix: number): SnapshotFigures {
  const chains = figures.meta.chains.map((chain) => ({
    ...chain,
    status: 'stale' as const,
    lagSeconds: nowUnix - chain.blockTimeUnix,
  }))
  return { ...figures, meta: { ...figures.meta, stale: true, chains } }
}

/** Holder lists include excluded addresses; at least ten of these rows are ranked. */
const HOLDER_ROWS = 14

/** Returns the newest events of all kinds together. */
async function newestOfAll(ask: Ask) {
  const lists = await Promise.all(
    cards.map(async ({ noun, list }) => {
      const query = { limit: String(NEWEST_ROWS) }
      const rows = await readRows<NewestRow>(ask, list.operationId, query)
      return rows.map((entry) => ({ entry: noun, ...entry }))
    }),
  )
  return pickNewest(lists)
}

export interface NewestRow {
  readonly id: string
  readonly timestampUnix: number
}

export const NEWEST_ROWS = 14

/** Merges the newest rows of several lists; each list must be whole or at least this long. */
export function pickNewest<Row extends NewestRow>(
  lists: readonly (readonly Row[])[],
): readonly Row[] {
  return lists
    .flat()
    .sort((a, b) => b.timestampUnix - a.timestampUnix || (a.id < b.id ? 1 : -1))
    .slice(0, NEWEST_ROWS)
}

export type SnapshotSeries = Awaited<ReturnType<typeof readSeries>>

export const SNAPSHOT_DAYS = 90

const PAGE_METRICS: readonly string[] = [
  'supply',
  'holders',
  'price',
  'marketCap',
  ...cards
    .flatMap(({ charts }) => charts.filter((each) => each.isOnPage))
    .map((each) => each.metric),
]

type Point = Pick<Static<typeof historyShape>['points'][number], 'dateUnix' | 'value'>

/** Reads daily values of the primary token for a period, from the first day with a figure. */
export async function readSeries({ ecosystem }: Context, ask: Ask, period: `${number}d` | 'all') {
  const chains = ecosystem.chains.map(({ name }) => name)
  const burnsOf = (chain: string) =>
    readRows<Static<typeof dayRow>>(ask, 'getDailyBurns', { period, chain })
  const [days = [], ...byChain] = await Promise.all(['all', ...chains].map(burnsOf))
  const metrics = await Promise.all(PAGE_METRICS.map((metric) => history(ask, { period, metric })))
  const toPoints = (rows: typeof days, member: 'burned' | 'cumulative') =>
    rows.map((day) => ({ dateUnix: day.dateUnix, value: Number(day[member]) }))
  const burned = byChain.map((rows) => toPoints(rows, 'burned'))
  const inAll = toPoints(days, 'cumulative')
  const all = [inAll, ...burned, ...metrics]
  const lastUnix = Math.max(...all.map((points) => points.at(-1)?.dateUnix ?? 0))
  const known = all.flat().filter(({ value }) => value !== null && value !== 0)
  const fromUnix = known.reduce((first, { dateUnix }) => Math.min(first, dateUnix), lastUnix)
  const count = (lastUnix - fromUnix) / DAY_SECONDS + 1
  // Matches points by date, because an answer from before midnight may stand in for a newer one.
  const onDays = (points: readonly Point[] = []): Values => {
    const values = new Map(points.map(({ dateUnix, value }) => [dateUnix, value]))
    return Array.from(
      { length: count },
      (_, day) => values.get(fromUnix + day * DAY_SECONDS) ?? null,
    )
  }
  return {
    /** Midnight UTC of the first day. */
    fromUnix,
    days: count,
    /** Token units a day. */
    burned: Object.fromEntries(chains.map((chain, index) => [chain, onDays(burned[index])])),
    burnedInAll: onDays(inAll),
    /** Empty if the token lacks the metric, such as a price, or it is not read yet. */
    metrics: Object.fromEntries(
      PAGE_METRICS.map((metric, index) => [
        metric,
        metrics[index]?.length ? onDays(metrics[index]) : [],
      ]),
    ),
  }
}

async function history(ask: Ask, query: Readonly<Record<string, string>>) {
  const body = await known<Reply<typeof historyShape>>(ask('getStatsHistory', query))
  return body?.data.points ?? []
}

/** Returns a list's rows; none before its dataset is first read. */
export async function readRows<Row>(
  ask: Ask,
  operationId: string,
  query: Readonly<Record<string, string>>,
): Promise<readonly Row[]> {
  return (await known<{ readonly data: readonly Row[] }>(ask(operationId, query)))?.data ?? []
}

/** Returns null for what this service lacks or cannot vouch for now. */
export async function known<Body>(asking: Promise<unknown>): Promise<Body | null> {
  try {
    return (await asking) as Body
  } catch (error) {
    if (error instanceof AskRefused) return null
    throw error
  }
}

/** Labels addresses by their role in the ecosystem file, such as a pool; the first label of an address wins. */
function listLabels(ecosystem: Ecosystem): Readonly<Record<string, string>> {
  const { file, tokens, burnAddresses, nonCirculating, bridges, payment } = ecosystem
  const labels: (readonly [Address | undefined, string])[] = [
    ...nonCirculating.map(
      (address, index) => [address, file.supply?.nonCirculating?.[index]?.label ?? ''] as const,
    ),
    ...burnAddresses.map((address) => [address, 'burn address'] as const),
    ...tokens.flatMap(({ symbol, addresses, prices }) => [
      ...[...addresses.values()].map((address) => [address, `${symbol} contract`] as const),
      ...prices.flatMap((price) =>
        price.chain === null || price.quote === null
          ? []
          : [[price.address, `${symbol}/${price.quote} pool`] as const],
      ),
    ]),
    ...bridges.map(({ address }) => [address, 'bridge'] as const),
    ...eventKinds.flatMap(({ part, tag }) =>
      ecosystem[part].map(
        ({ address }) => [address, `contract of ${tag.name.toLowerCase()}`] as const,
      ),
    ),
    ...(payment?.payTo ?? []).map(({ address }) => [address, 'payments of this service'] as const),
  ]
  const known = labels.flatMap(([address, label]) =>
    address === undefined ? [] : [[showAddress(address), label] as const],
  )
  return Object.fromEntries(known.toReversed())
}
