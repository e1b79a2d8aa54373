import { setTimeout as delay } from 'node:timers/promises'
import type { Ask } from '#api/examples.ts'
import { TtlCache } from '#base/async.ts'
import type { PageWords } from '#base/page-settings.ts'
import { unixNow } from '#base/time.ts'
import type { Context } from '#context.ts'
import { cards } from '#data/cards.ts'
import { listLabels } from './labels.ts'
import { isNotReady, readRows, readSeries, SNAPSHOT_DAYS, type SnapshotSeries } from './series.ts'

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

interface SnapshotFigures {
  /** The `meta` of /api/stats, with its blocks. */
  readonly meta: SnapshotMeta
  readonly stats: unknown
  readonly burns: unknown
  readonly series: SnapshotSeries
  readonly newest: readonly unknown[]
  readonly leaders: readonly unknown[]
  readonly holders: readonly unknown[]
}

interface SnapshotMeta {
  readonly stale: boolean
  readonly chains: readonly {
    readonly status: string
    readonly blockTimeUnix: number
    readonly lagSeconds: number
  }[]
}

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
  const figures = new LastFigures(ctx, ask, timeoutMs)
  const last = new TtlCache<Snapshot>({ max: 1, ttlMs: AGE_MAX_MS, clock: ctx.clock })
  const { words } = ctx.ecosystem.service
  const labels = listLabels(ctx.ecosystem)
  const make = async (): Promise<Snapshot> => {
    const service = await ask('getMeta')
    return { service, words, labels, ...(await figures.renewed()) }
  }
  return () => last.get('', make)
}

class LastFigures {
  readonly #ctx: Context
  readonly #ask: Ask
  readonly #timeoutMs: number
  #known: SnapshotFigures | null = null
  #knownUnix = 0
  #isReadable = true
  /** One read at a time, so that reads do not pile up on a hanging store. */
  #reading: Promise<void> | undefined

  constructor(ctx: Context, ask: Ask, timeoutMs: number) {
    this.#ctx = ctx
    this.#ask = ask
    this.#timeoutMs = timeoutMs
  }

  async renewed(): Promise<Pick<Snapshot, 'madeUnix' | 'readable' | 'figures'>> {
    this.#reading ??= this.#read()
    if (!(await isInTime(this.#reading, this.#timeoutMs))) this.#isReadable = false
    const now = unixNow(this.#ctx.clock)
    const readable = this.#isReadable
    if (this.#known === null) return { madeUnix: now, readable, figures: null }
    const isOld = now - this.#knownUnix >= STALE_SECONDS
    const figures = isOld ? toStale(this.#known, now) : this.#known
    return { madeUnix: this.#knownUnix, readable, figures }
  }

  async #read(): Promise<void> {
    const startedUnix = unixNow(this.#ctx.clock)
    try {
      this.#known = await this.#figures()
      this.#knownUnix = startedUnix
      this.#isReadable = true
    } catch (error) {
      this.#isReadable = isNotReady(error)
    } finally {
      this.#reading = undefined
    }
  }

  async #figures(): Promise<SnapshotFigures> {
    const ask = this.#ask
    const { data: stats, meta } = (await ask('getStats')) as Body
    const { data: burns } = (await ask('getBurnTotals')) as Body
    return {
      meta,
      stats,
      burns,
      series: await readSeries(this.#ctx, ask, `${SNAPSHOT_DAYS}d`),
      newest: await newestOfAll(ask),
      leaders: await readRows(ask, 'rankGraveDiggers', { limit: '10' }),
      holders: await readRows(ask, 'listHolders', { limit: String(HOLDER_ROWS) }),
    }
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
    status: 'stale',
    lagSeconds: nowUnix - chain.blockTimeUnix,
  }))
  return { ...figures, meta: { ...figures.meta, stale: true, chains } }
}

/** Holder lists include excluded addresses; at least ten of these rows are ranked. */
const HOLDER_ROWS = 14

interface Body {
  readonly data: unknown
  readonly meta: SnapshotMeta
}

/** Returns the newest events of all kinds together. */
async function newestOfAll(ask: Ask): Promise<readonly unknown[]> {
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
