import assert from 'node:assert/strict'
import { LRUCache } from 'lru-cache'
import { findKey } from '#accounts/keys/key-store.ts'
import {
  type Admission,
  ConnectionCut,
  lockUsageDay,
  type Meter,
  MeteringUnavailable,
  type MeterState,
} from '#accounts/metering/meter/decide-batch.ts'
import type { Ecosystem } from '#chains/ecosystem/ecosystem.ts'
import { type Context, oncePerContext, reportError } from '#context.ts'
import type { Caller } from '#domain/caller.ts'
import { startOfDay, unixNow } from '#lib/time.ts'
import { type Connection, LockTimeoutError } from '#store/engine.ts'
import { sql } from '#store/sql.ts'
import { callCounts } from '../call-counts.ts'
import { type Batch, decideBatch, readStates } from './decide-batch.ts'

/** On eviction, an exhausted caller gets one more call handled before the 402. */
const REFUSED_MAX = 20_000

/** Commits in groups: calls that arrive during a batch form the next, answered once durable. */
export const meterOf = oncePerContext((ctx): Meter => {
  assert(ctx.ecosystem.pricePerCall > 0n, 'a paid call has a price above zero')
  const refusedDay = new LRUCache<string, number>({ max: REFUSED_MAX })
  const today = () => startOfDay(unixNow(ctx.clock))
  const calls = new BatchQueue<Call, Admission | 'cut'>(async (batch) => {
    const startedMs = performance.now()
    const admissions = await admitBatch(ctx, batch)
    callCounts(ctx).addCommit((performance.now() - startedMs) / 1_000)
    return admissions
  })
  const states = new BatchQueue<Caller, MeterState>((callers) =>
    orUnavailable(ctx, () =>
      ctx.admissions.snapshot((reads) => readStates(reads, batchOf(ctx, callers))),
    ),
  )
  return {
    waiting: () => calls.size,
    async admit(caller, isCut = () => false) {
      const admission = await calls.add({ caller, isCut })
      if (admission === 'cut')
        throw new ConnectionCut('the client left before its call was charged')
      if (admission.kind !== 'admitted') refusedDay.set(caller.identity, today())
      else if (refusedDay.size > 0) refusedDay.delete(caller.identity)
      return admission
    },
    rateLimit: (caller) => states.add(caller),
    wasRefused: ({ identity }) => refusedDay.size > 0 && refusedDay.get(identity) === today(),
  }
})

interface Call {
  readonly caller: Caller
  isCut(): boolean
}

/** A call whose client has left is not charged. */
async function admitBatch(
  ctx: Context,
  calls: readonly Call[],
): Promise<readonly (Admission | 'cut')[]> {
  const isCut = calls.map((call) => call.isCut())
  const callers = calls.filter((_, index) => isCut[index] === false).map(({ caller }) => caller)
  if (callers.length === 0) return calls.map(() => 'cut')
  const admissions = await orUnavailable(ctx, () =>
    ctx.admissions.write((tx) => decideBatch(tx, batchOf(ctx, callers))),
  )
  const decided = admissions.values()
  return isCut.map((cut) => (cut ? 'cut' : (decided.next().value ?? 'cut')))
}

function batchOf({ clock, ecosystem }: MeterContext, callers: readonly Caller[]): Batch {
  return { callers, day: startOfDay(unixNow(clock)), pricePerCall: ecosystem.pricePerCall }
}

type MeterContext = Pick<Context, 'clock'> & { readonly ecosystem: Pick<Ecosystem, 'pricePerCall'> }

/** A commit that stood although its reply was lost stays charged. */
async function orUnavailable<T>(ctx: Context, ask: () => Promise<T>): Promise<T> {
  try {
    return await ask()
  } catch (cause) {
    if (cause instanceof LockTimeoutError) void reportBlockers(ctx, cause)
    throw new MeteringUnavailable('cannot count calls in the accounts store', { cause })
  }
}

async function reportBlockers(ctx: Context, cause: LockTimeoutError): Promise<void> {
  const blockers = await nameBlockers(ctx).catch(() => 'unknown')
  const message = `another session holds a row of the accounts; calls get 503: ${blockers}`
  reportError(ctx, new Error(message, { cause }))
}

const NAMED_MAX = 5

/** Sessions with an open transaction on tables of the meter, the longest first; PostgreSQL only. */
async function nameBlockers({ admissions }: Context): Promise<string> {
  const sessions = await admissions.read(sql`
    select distinct sessions.pid, sessions.usename, sessions.application_name, sessions.state,
      cast(sessions.xact_start as text) as since
    from pg_stat_activity as sessions join pg_locks as locks on locks.pid = sessions.pid
    where locks.granted and locks.mode <> 'AccessShareLock'
      and locks.relation in (
        to_regclass('usage_days'), to_regclass('key_days'), to_regclass('keys'),
        to_regclass('balances'), to_regclass('spend_days'))
      and sessions.pid <> pg_backend_pid()
    order by since limit ${NAMED_MAX}`)
  const named = sessions.map(({ pid, usename, application_name: name, state, since }) => {
    // Both are null without the right to see other users' sessions.
    const what = state === null ? 'to see more, grant pg_read_all_stats' : `${state} since ${since}`
    return `pid ${pid} (${name || 'unnamed'}, user ${usename}): ${what}`
  })
  return named.length === 0 ? 'none is left' : named.join('; ')
}

/**
 * Admits a call in a transaction that does more, such as the one that credits its caller. `prepare` runs
 * between the locks of the meter and its decision: it returns the key that pays, if one does, or undefined
 * to admit nothing.
 */
export async function admitWithin(
  ctx: MeterContext,
  tx: Connection,
  caller: Caller,
  prepare: () => Promise<{ readonly key: string | null } | undefined>,
): Promise<Admission | undefined> {
  const batch = batchOf(ctx, [caller])
  const { bucket, dailyQuota: quota } = caller
  await lockUsageDay(tx, { bucket, day: batch.day, quota })
  const payer = await prepare()
  if (payer === undefined) return undefined
  const callers = [await newestCaller(tx, caller, payer.key)]
  return (await decideBatch(tx, { ...batch, callers }))[0]
}

/** The key may have been rotated or limited since the caller was read. */
async function newestCaller(tx: Connection, caller: Caller, key: string | null): Promise<Caller> {
  if (caller.kind !== 'keyed') return caller
  const publicId = key ?? caller.publicId
  const newest = await findKey(tx, publicId)
  if (newest === undefined) return caller
  return { ...caller, publicId, hasOwnCounter: !newest.isFirst, limits: newest.limits }
}

/** Whether a call of this caller would be paid now. */
export async function canPay(ctx: MeterContext, tx: Connection, caller: Caller): Promise<boolean> {
  const [state] = await readStates(tx, batchOf(ctx, [caller]))
  return state !== undefined && state.refused === undefined
}

/** Requests decided at once and not yet on disk: what a commit of unknown outcome may leave charged. */
const BATCH_MAX = 256

/** More cannot be served within a request's time; includes the batch at work. */
const WAITING_MAX = 20_000

interface Waiting<Request, Result> {
  readonly request: Request
  resolve(result: Result): void
  reject(error: unknown): void
}

/** Works on one batch at a time, in order of arrival: what arrives meanwhile forms the next. */
class BatchQueue<Request, Result> {
  readonly #work: (batch: readonly Request[]) => Promise<readonly Result[]>
  #waiting: Waiting<Request, Result>[] = []
  #atWork = 0

  /** `work` returns a result for each request; if it rejects, all of the batch do. */
  constructor(work: (batch: readonly Request[]) => Promise<readonly Result[]>) {
    this.#work = work
  }

  get size(): number {
    return this.#waiting.length + this.#atWork
  }

  add(request: Request): Promise<Result> {
    if (this.size >= WAITING_MAX)
      return Promise.reject(new MeteringUnavailable('too many calls wait to be counted'))
    const { promise, resolve, reject } = Promise.withResolvers<Result>()
    const isIdle = this.size === 0
    this.#waiting.push({ request, resolve, reject })
    if (isIdle) void this.#run()
    return promise
  }

  async #run(): Promise<void> {
    while (this.#waiting.length > 0) {
      // Requests that the system has at hand arrive in the same turn of the event loop.
      await new Promise((resolve) => setImmediate(resolve))
      const batch = this.#waiting.splice(0, BATCH_MAX)
      this.#atWork = batch.length
      await this.#settle(batch)
      this.#atWork = 0
    }
  }

  async #settle(batch: readonly Waiting<Request, Result>[]): Promise<void> {
    try {
      const results = await this.#work(batch.map(({ request }) => request))
      assert.equal(results.length, batch.length, 'a result for each request of the batch')
      for (const [index, result] of results.entries()) batch[index]?.resolve(result)
    } catch (error) {
      for (const { reject } of batch) reject(error)
    }
  }
}
