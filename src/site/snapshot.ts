import { setTimeout as delay } from 'node:timers/promises'
import type { Clock } from '#lib/time.ts'
import { unixNow } from '#lib/time.ts'
import type { Ask } from '#route/ask-routes.ts'
import { AskRefused } from '#route/ask-routes.ts'
import { type SnapshotSeries, seriesOf } from './series.ts'

/** Everything that the page shows before anyone asks for more. */
export interface Snapshot {
  readonly madeUnix: number
  /** The answer of /api/meta. */
  readonly service: unknown
  /** Null until the index has read its first blocks. */
  readonly figures: SnapshotFigures | null
}

export interface SnapshotFigures {
  /** Of /api/stats: as of which blocks. */
  readonly meta: unknown
  readonly stats: unknown
  readonly burns: unknown
  readonly series: SnapshotSeries
  readonly newest: readonly unknown[]
  readonly leaders: readonly unknown[]
}

const ROWS = '12'

/** A minute old at most; rebuilt sooner, because the newest entries should look alive. */
const AGE_MAX_SECONDS = 5

export interface SnapshotDeps {
  readonly ask: Ask
  readonly clock: Clock
  readonly chains: readonly string[]
}

/** A store that hangs must not take the page with it. */
const TIMEOUT_MS = 2_000

/** One snapshot for everyone, built when someone asks and the last one is old. */
export function sharedSnapshot(deps: SnapshotDeps): () => Promise<Snapshot> {
  let last: { readonly made: Promise<Snapshot>; readonly madeUnix: number } | undefined
  let known: SnapshotFigures | null = null
  const make = async (): Promise<Snapshot> => {
    const service = await deps.ask('getMeta')
    // While the register fails, the last figures stay; their blocks tell how old they are.
    known = await inTime(figuresOf(deps)).catch(() => known)
    return { madeUnix: unixNow(deps.clock), service, figures: known }
  }
  return async () => {
    const now = unixNow(deps.clock)
    if (last === undefined || now - last.madeUnix >= AGE_MAX_SECONDS) {
      const own = { made: make(), madeUnix: now }
      last = own
      own.made.catch(() => {
        if (last === own) last = undefined
      })
    }
    return last.made
  }
}

async function inTime<T>(work: Promise<T>): Promise<T> {
  const stop = new AbortController()
  const late = delay(TIMEOUT_MS, undefined, { signal: stop.signal, ref: false }).then(() => {
    throw new Error(`the register did not answer within ${TIMEOUT_MS} ms`)
  })
  late.catch(() => undefined)
  try {
    return await Promise.race([work, late])
  } finally {
    stop.abort()
  }
}

interface Body {
  readonly data: unknown
  readonly meta: unknown
}

async function figuresOf(deps: SnapshotDeps): Promise<SnapshotFigures | null> {
  try {
    const { ask } = deps
    const { data: stats, meta } = (await ask('getStats')) as Body
    const { data: burns } = (await ask('getBurnTotals')) as Body
    return {
      meta,
      stats,
      burns,
      series: await seriesOf(deps),
      newest: await newestOf(ask),
      leaders: ((await ask('rankGraveDiggers', { limit: '10' })) as Body).data as unknown[],
    }
  } catch (error) {
    if (error instanceof AskRefused && error.refusal.code === 'data_not_ready') return null
    throw error
  }
}

interface Entry {
  readonly id: string
  readonly timestampUnix: number
}

/** The newest of all kinds together. */
async function newestOf(ask: Ask): Promise<readonly unknown[]> {
  const kinds = [
    { kind: 'burn', operationId: 'listBurns' },
    { kind: 'payout', operationId: 'listPayouts' },
    { kind: 'dig', operationId: 'listGraveDigs' },
  ]
  const lists = await Promise.all(
    kinds.map(async ({ kind, operationId }) => {
      const { data } = (await ask(operationId, { limit: ROWS })) as { readonly data: Entry[] }
      return data.map((entry) => ({ entry: kind, ...entry }))
    }),
  )
  return lists
    .flat()
    .sort((a, b) => b.timestampUnix - a.timestampUnix || (a.id < b.id ? 1 : -1))
    .slice(0, 2 * Number(ROWS))
}
