import assert from 'node:assert/strict'
import { LRUCache } from 'lru-cache'
import { Counter, Histogram } from 'prom-client'
import { findKey } from '#accounts/keys/key-store.ts'
import { type CapLeft, readCaps } from '#accounts/keys/spending-caps.ts'
import { bucketAccount, keyAccount, selectBalances, spendCalls } from '#accounts/ledger/ledger.ts'
import type { Caller, RateLimitState } from '#base/caller.ts'
import type { ReachedCap } from '#base/key-limits.ts'
import type { MicroUsd } from '#base/money.ts'
import { nextMidnight, startOfDay, unixNow } from '#base/time.ts'
import { type Context, getRegistry, oncePerContext } from '#context.ts'
import type { BulkInsert, Connection } from '#db/engine.ts'
import { column, inNames, type Row, sql } from '#db/sql.ts'
import type { Ecosystem } from '#ecosystem/ecosystem.ts'

/** On eviction, an exhausted caller gets one more call handled before the 402. */
const REFUSED_MAX = 20_000

/** Commits in groups: calls that arrive during a commit form the next batch, answered once durable. */
export const getMeter = oncePerContext((ctx): Meter => {
  assert(ctx.ecosystem.pricePerCall > 0n, 'a paid call has a price above zero')
  const refusedDay = new LRUCache<string, number>({ max: REFUSED_MAX })
  const today = () => startOfDay(unixNow(ctx.clock))
  const { commits } = getMeterMetrics(ctx)
  const calls = new BatchQueue<Call, Admission | 'cut'>(async (batch) => {
    const startedMs = performance.now()
    const admissions = await admitBatch(ctx, batch)
    commits.observe((performance.now() - startedMs) / 1_000)
    return admissions
  })
  const states = new BatchQueue<Caller, MeterState>((callers) =>
    orUnavailable(() =>
      ctx.admissions.snapshot((reads) => readStates(reads, toBatch(ctx, callers))),
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

/** A commit waits for the local disk or for the database's. */
const COMMIT_SECONDS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1, 2.5]

const getMeterMetrics = oncePerContext((ctx) => ({
  decisions: new Counter({
    name: 'sexton_admissions_total',
    help: 'Decisions of the meter by what paid',
    labelNames: ['source'],
    registers: [getRegistry(ctx)],
  }),
  commits: new Histogram({
    name: 'sexton_meter_commit_seconds',
    help: 'From a batch to its durable commit',
    buckets: COMMIT_SECONDS,
    registers: [getRegistry(ctx)],
  }),
}))

/** Counts a decision for the metrics. */
export function countDecision(ctx: Context, decision: Admission | Refused): void {
  const source = 'source' in decision ? decision.source : decision.kind
  getMeterMetrics(ctx).decisions.inc({ source })
}

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
  const admissions = await orUnavailable(() =>
    ctx.admissions.write((tx) => decideBatch(tx, toBatch(ctx, callers))),
  )
  const decided = admissions.values()
  return isCut.map((cut) => (cut ? 'cut' : (decided.next().value ?? 'cut')))
}

function toBatch({ clock, ecosystem }: MeterContext, callers: readonly Caller[]): Batch {
  return { callers, day: startOfDay(unixNow(clock)), pricePerCall: ecosystem.pricePerCall }
}

type MeterContext = Pick<Context, 'clock'> & { readonly ecosystem: Pick<Ecosystem, 'pricePerCall'> }

/** Calls whose commit succeeded although its reply was lost stay charged. */
export async function orUnavailable<T>(ask: () => Promise<T>): Promise<T> {
  try {
    return await ask()
  } catch (cause) {
    throw new MeteringUnavailable('the accounts store cannot be asked', { cause })
  }
}

/**
 * Admits a call inside a larger transaction, such as the one that credits its caller. `prepare` runs after the
 * meter's locks and before its decision; it returns the paying key, if any, or undefined to admit nothing.
 */
export async function admitWithin(
  ctx: MeterContext,
  tx: Connection,
  caller: Caller,
  prepare: () => Promise<{ readonly key: string | null } | undefined>,
): Promise<Admission | undefined> {
  const batch = toBatch(ctx, [caller])
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
  return { ...caller, publicId, limits: newest.limits }
}

/** Whether a call of this caller would be paid now. */
export async function canPay(ctx: MeterContext, tx: Connection, caller: Caller): Promise<boolean> {
  const [state] = await readStates(tx, toBatch(ctx, [caller]))
  return state !== undefined && state.refused === undefined
}

/** Maximum calls per batch, which is also how many a commit of unknown outcome may leave charged. */
const BATCH_MAX = 256

/** Maximum calls waiting, including the current batch: more could not be served within a request's time. */
const WAITING_MAX = 20_000

interface Waiting<Request, Result> extends PromiseWithResolvers<Result> {
  readonly request: Request
}

/** Runs one batch at a time; requests that arrive meanwhile form the next, in order of arrival. */
class BatchQueue<Request, Result> {
  readonly #work: (batch: readonly Request[]) => Promise<readonly Result[]>
  #waiting: Waiting<Request, Result>[] = []
  #atWork = 0

  /** `work` returns one result per request; if it rejects, the whole batch does. */
  constructor(work: (batch: readonly Request[]) => Promise<readonly Result[]>) {
    this.#work = work
  }

  get size(): number {
    return this.#waiting.length + this.#atWork
  }

  add(request: Request): Promise<Result> {
    if (this.size >= WAITING_MAX)
      return Promise.reject(new MeteringUnavailable('too many calls wait to be counted'))
    const waiting = { request, ...Promise.withResolvers<Result>() }
    const isIdle = this.size === 0
    this.#waiting.push(waiting)
    if (isIdle) void this.#run()
    return waiting.promise
  }

  async #run(): Promise<void> {
    while (this.#waiting.length > 0) {
      // Lets requests that the system already received join this batch.
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

export interface Batch {
  /** In order of arrival. */
  readonly callers: readonly Caller[]
  /** Unix seconds, for the whole batch. */
  readonly day: number
  readonly pricePerCall: MicroUsd
}

/**
 * Decides calls in arrival order, in one transaction: free units, then prepaid calls. It takes at
 * most three statements without payment and six with, and for capped keys a lock each and one
 * sum. Locks usage_days, key_days, keys, balances, spend_days in that order.
 */
async function decideBatch(tx: Connection, batch: Batch): Promise<readonly Admission[]> {
  const { callers, day, pricePerCall } = batch
  const newest = new Map(callers.map((caller) => [caller.bucket, caller]))
  const taken = await takeUnits(tx, day, wantedUnits(callers, newest))
  const { keyUnits, overQuota } = shareUnits(callers, taken)
  const unread = overQuota.filter(({ bucket }) => !taken.has(bucket))
  const usage =
    overQuota.length === 0
      ? NO_USAGE
      : await readUsage(tx, day, {
          buckets: unread.map(({ bucket }) => bucket),
          accounts: overQuota.map(toAccount),
        })
  if (keyUnits.size > 0) await addKeyUnits(tx, day, keyUnits)
  const capped = cappedKeys(overQuota)
  const caps = capped.size === 0 ? NONE : await readCaps(tx, day, { publicIds: capped, lock: true })
  const payable = payableCalls(overQuota, usage.balances, caps, pricePerCall)
  const spent =
    payable.size === 0 ? NONE : await spendCalls(tx, { calls: payable, pricePerCall, day })

  const unitsLeft = new Map([...taken].map(([bucket, { granted }]) => [bucket, granted]))
  const callsLeft = new Map(spent)
  const days = new Map(
    [...newest.keys()].map((bucket) => {
      const { used, paid } = taken.get(bucket) ?? usage.days.get(bucket) ?? NO_CALLS
      return [bucket, { used: used - (unitsLeft.get(bucket) ?? 0), paid }]
    }),
  )
  const paid = new Map<string, number>()
  const admissions = callers.map((caller): Admission => {
    const today = days.get(caller.bucket) ?? { ...NO_CALLS }
    const show = () => toRateLimit(newest.get(caller.bucket) ?? caller, today, day)
    if (takeOne(unitsLeft, caller.bucket)) {
      today.used += 1
      return { kind: 'admitted', source: 'quota', rateLimit: show() }
    }
    const account = toAccount(caller)
    if (takeOne(callsLeft, account)) {
      today.paid += 1
      countOne(paid, caller.bucket)
      return { kind: 'admitted', source: 'prepaid', rateLimit: show() }
    }
    const calls = (spent.get(account) ?? 0) + 1
    const cap = reachedCap(caps.get(account), BigInt(calls) * pricePerCall)
    return { ...(cap ?? EXHAUSTED), rateLimit: show() }
  })
  if (paid.size > 0) await addPaid(tx, day, paid)
  return admissions
}

/** Reads what `decideBatch` would decide for one call of each caller, and writes nothing. */
async function readStates(tx: Connection, batch: Batch): Promise<readonly MeterState[]> {
  const { callers, day, pricePerCall } = batch
  const buckets = callers.map(({ bucket }) => bucket)
  const usage = await readUsage(tx, day, { buckets, accounts: callers.map(toAccount) })
  const capped = cappedKeys(callers)
  const caps =
    capped.size === 0 ? NONE : await readCaps(tx, day, { publicIds: capped, lock: false })
  return callers.map((caller) => {
    const account = toAccount(caller)
    const rateLimit = toRateLimit(caller, usage.days.get(caller.bucket) ?? NO_CALLS, day)
    const prepaidBalance = usage.balances.get(account) ?? 0n
    if (rateLimit.remaining > 0) return { ...rateLimit, prepaidBalance }
    const cap = reachedCap(caps.get(account), pricePerCall)
    const refused = cap ?? (prepaidBalance < pricePerCall ? EXHAUSTED : undefined)
    return { ...rateLimit, prepaidBalance, ...(refused !== undefined && { refused }) }
  })
}

const NONE: ReadonlyMap<string, never> = new Map<string, never>()

const NO_CALLS = { used: 0, paid: 0 }

const NO_USAGE: Usage = { days: NONE, balances: NONE }

const EXHAUSTED: Refused = { kind: 'exhausted' }

/** Applies the newest caller's quota to the bucket, so that a new tier counts at once. */
function wantedUnits(callers: readonly Caller[], newest: ReadonlyMap<string, Caller>) {
  const calls = new Map<string, number>()
  for (const { bucket } of callers) countOne(calls, bucket)
  return new Map(
    [...newest].map(([bucket, { dailyQuota: quota }]) => [
      bucket,
      { calls: calls.get(bucket) ?? 0, quota },
    ]),
  )
}

/** Gives the units of each bucket to its first calls. */
function shareUnits(callers: readonly Caller[], taken: ReadonlyMap<string, TakenUnits>) {
  const shared = new Map<string, number>()
  const keyUnits = new Map<string, number>()
  const overQuota: Caller[] = []
  for (const caller of callers) {
    const granted = taken.get(caller.bucket)?.granted ?? 0
    if (countOne(shared, caller.bucket) > granted) overQuota.push(caller)
    else if (caller.kind === 'keyed') countOne(keyUnits, caller.publicId)
  }
  return { keyUnits, overQuota }
}

/** Skips accounts that cannot pay for one call; the debit itself decides about the others. */
function payableCalls(
  callers: readonly Caller[],
  balances: ReadonlyMap<string, MicroUsd>,
  caps: ReadonlyMap<string, CapLeft>,
  pricePerCall: MicroUsd,
): ReadonlyMap<string, number> {
  const calls = new Map<string, number>()
  for (const account of callers.map(toAccount)) {
    const cost = BigInt((calls.get(account) ?? 0) + 1) * pricePerCall
    const isCapped = reachedCap(caps.get(account), cost) !== undefined
    if (!isCapped && (balances.get(account) ?? 0n) >= pricePerCall) countOne(calls, account)
  }
  return calls
}

function cappedKeys(callers: readonly Caller[]): ReadonlySet<string> {
  const capped = callers.flatMap((caller) =>
    caller.kind === 'keyed' && caller.limits?.dailyCapMicroUsd !== undefined ? caller.publicId : [],
  )
  return new Set(capped)
}

function reachedCap(capLeft: CapLeft | undefined, cost: MicroUsd): Refused | undefined {
  if (capLeft === undefined || capLeft.left >= cost) return undefined
  return { kind: 'limited', cap: capLeft.cap }
}

function toRateLimit(
  { tier, dailyQuota }: Caller,
  { used, paid }: { readonly used: number; readonly paid: number },
  day: number,
): RateLimitState {
  return {
    tier,
    dailyQuota,
    requestCount: used + paid,
    overageCount: paid,
    remaining: Math.max(0, dailyQuota - used),
    resetUnix: nextMidnight(day),
  }
}

/** The account that pays for a caller's calls. */
export function toAccount(caller: Caller): string {
  return caller.kind === 'keyed' ? keyAccount(caller.publicId) : bucketAccount(caller.bucket)
}

function countOne(counts: Map<string, number>, name: string): number {
  const count = (counts.get(name) ?? 0) + 1
  counts.set(name, count)
  return count
}

/** Returns false when none is left. */
function takeOne(left: Map<string, number>, name: string): boolean {
  const count = left.get(name) ?? 0
  if (count > 0) left.set(name, count - 1)
  return count > 0
}

/** Charged calls of a bucket on a day: free units and paid calls. */
export interface UsageDay {
  readonly used: number
  readonly paid: number
}

/** A bucket's counts for the day, including the units just taken, and how many those are. */
interface TakenUnits extends UsageDay {
  readonly granted: number
}

/**
 * Counts, decides and takes in one statement, so that no number of replicas exceeds a quota. Rows are locked in name
 * order to prevent deadlocks. Buckets without units left are locked but not written, and absent from the result.
 */
async function takeUnits(
  connection: Connection,
  day: number,
  wanted: ReadonlyMap<string, { readonly calls: number; readonly quota: number }>,
): Promise<ReadonlyMap<string, TakenUnits>> {
  const taken = await connection.insert(
    TAKEN,
    inOrder(wanted).map(([bucket, { calls, quota }]) => {
      const first = Math.min(calls, quota)
      return [day, bucket, first, first, quota, quota]
    }),
  )
  return new Map(
    taken.map((row) => [
      column.text(row, 'bucket'),
      { ...toUsageDay(row), granted: column.integer(row, 'granted') },
    ]),
  )
}

const GRANTED = `case
  when usage_days.used >= excluded.quota then 0
  when excluded.quota - usage_days.used < excluded.granted then excluded.quota - usage_days.used
  else excluded.granted end`

const TAKEN: BulkInsert = {
  table: 'usage_days',
  columns: {
    day: 'bigint',
    bucket: 'text',
    used: 'bigint',
    granted: 'bigint',
    quota: 'bigint',
    quota_most: 'bigint',
  },
  constants: { paid: 0 },
  conflict: `on conflict (day, bucket) do update set
    granted = ${GRANTED}, used = usage_days.used + ${GRANTED}, quota = excluded.quota,
    quota_most = case when excluded.quota > usage_days.quota_most
      then excluded.quota else usage_days.quota_most end
    where usage_days.used < excluded.quota or usage_days.quota <> excluded.quota
    returning bucket, used, paid, granted`,
}

/** Creates the row if needed. Call before changing a balance: the meter locks in this order. */
async function lockUsageDay(
  connection: Connection,
  input: { readonly bucket: string; readonly day: number; readonly quota: number },
): Promise<void> {
  const { bucket, day, quota } = input
  await connection.run(sql`
    insert into usage_days (day, bucket, used, paid, granted, quota, quota_most)
    values (${day}, ${bucket}, 0, 0, 0, ${quota}, ${quota})
    on conflict (day, bucket) do update set used = usage_days.used`)
}

/** Requires the locks of `takeUnits` in this transaction. */
async function addPaid(
  connection: Connection,
  day: number,
  calls: ReadonlyMap<string, number>,
): Promise<void> {
  await connection.insert(
    PAID,
    inOrder(calls).map(([bucket, paid]) => [day, bucket, paid]),
  )
}

const PAID: BulkInsert = {
  table: 'usage_days',
  columns: { day: 'bigint', bucket: 'text', paid: 'bigint' },
  constants: { used: 0, granted: 0, quota: 0, quota_most: 0 },
  conflict: 'on conflict (day, bucket) do update set paid = usage_days.paid + excluded.paid',
}

/** Requires the lock on the wallet's row. */
async function addKeyUnits(
  connection: Connection,
  day: number,
  units: ReadonlyMap<string, number>,
): Promise<void> {
  await connection.insert(
    KEY_UNITS,
    inOrder(units).map(([publicId, used]) => [day, publicId, used]),
  )
}

const KEY_UNITS: BulkInsert = {
  table: 'key_days',
  columns: { day: 'bigint', public_id: 'text', used: 'bigint' },
  conflict: 'on conflict (day, public_id) do update set used = key_days.used + excluded.used',
}

export interface Usage {
  /** Keyed by bucket; absent without calls. */
  readonly days: ReadonlyMap<string, UsageDay>
  /** Keyed by account; absent without postings. */
  readonly balances: ReadonlyMap<string, MicroUsd>
}

/** Reads both in one statement, so that they are consistent. */
export async function readUsage(
  connection: Connection,
  day: number,
  of: { readonly buckets: readonly string[]; readonly accounts: readonly string[] },
): Promise<Usage> {
  const rows = await connection.run(sql`
    select 1 as is_day, bucket as name, used, paid, 0 as micro_usd from usage_days
    where day = ${day} and bucket ${inNames(of.buckets)}
    union all
    select 0, account, 0, 0, micro_usd from (${selectBalances(of.accounts)}) as held`)
  const days = new Map<string, UsageDay>()
  const balances = new Map<string, MicroUsd>()
  for (const row of rows)
    if (row.is_day === 1) days.set(column.text(row, 'name'), toUsageDay(row))
    else balances.set(column.text(row, 'name'), column.amount(row, 'micro_usd'))
  return { days, balances }
}

function toUsageDay(row: Row): UsageDay {
  return { used: column.integer(row, 'used'), paid: column.integer(row, 'paid') }
}

function inOrder<T>(map: ReadonlyMap<string, T>): [string, T][] {
  return [...map].sort(([a], [b]) => (a < b ? -1 : 1))
}

export type Refused =
  | { readonly kind: 'exhausted' }
  | { readonly kind: 'limited'; readonly cap: ReachedCap }

/** Durable before it is returned; figures are as of this call. */
export type Admission = (
  | { readonly kind: 'admitted'; readonly source: 'quota' | 'prepaid' }
  | Refused
) & { readonly rateLimit: RateLimitState }

interface MeterState extends RateLimitState {
  readonly prepaidBalance: MicroUsd
  /** What `admit` would answer now, if not admitted. */
  readonly refused?: Refused
}

/** Throws MeteringUnavailable. */
export interface Meter {
  /**
   * Takes a free unit, else the price from the balance, else refuses. Nothing of a call may fail afterwards. Throws
   * ConnectionCut if `isCut` returns true when the call would join a batch.
   */
  admit(caller: Caller, isCut?: () => boolean): Promise<Admission>
  /** Reads the caller's state without charging. */
  rateLimit(caller: Caller): Promise<MeterState>
  /** Whether the caller's last call was refused, from memory. */
  wasRefused(caller: Caller): boolean
  /** Calls that wait for a decision or for the disk. */
  waiting(): number
}

/** The caller gets a 503: never a 402, a 429 or a free call. */
export class MeteringUnavailable extends Error {
  override readonly name = 'MeteringUnavailable'
}

/** The client left, so that its call is not charged. */
export class ConnectionCut extends Error {
  override readonly name = 'ConnectionCut'
}
