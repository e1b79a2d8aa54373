import type { MicroUsd } from '#domain/money.ts'
import { balancesOf } from '#ledger/balance.ts'
import { type BulkInsert, type Connection, type Row, StoreError } from '#store/engine.ts'
import { column } from '#store/row.ts'
import { inNames, sql } from '#store/sql.ts'

/** One of the batches of a process, which are numbered and never overlap. */
export interface BatchId {
  readonly meter: string
  readonly number: number
}

/**
 * Records the number of a process's newest batch, so that `settleBatch` can tell whether it was committed.
 * StoreError for a batch that was given up: it must not be counted after all.
 */
export async function recordBatch(
  connection: Connection,
  { id, day }: { readonly id: BatchId; readonly day: number },
): Promise<void> {
  const recorded = await connection.run(sql`
    insert into meters (meter, batch, day) values (${id.meter}, ${id.number}, ${day})
    on conflict (meter) do update set batch = excluded.batch, day = excluded.day, given_up = 0
      where meters.batch < excluded.batch
    returning batch`)
  if (recorded.length === 0) throw new StoreError('the batch was given up')
}

/**
 * Whether the newest batch of this process was committed. A commit that is still under way holds the row,
 * so that this waits for it. A batch that was not committed is given up: its number is taken, and
 * `recordBatch` refuses it.
 */
export async function settleBatch(
  connection: Connection,
  { id, day }: { readonly id: BatchId; readonly day: number },
): Promise<boolean> {
  const [row] = await connection.run(sql`
    insert into meters (meter, batch, day) values (${id.meter}, 0, ${day})
    on conflict (meter) do update set batch = meters.batch returning batch, given_up`)
  const newest = row === undefined ? 0 : column.integer(row, 'batch')
  // Settled before a newer batch began.
  if (newest > id.number) return false
  if (row !== undefined && newest === id.number) return row.given_up === 0
  await connection.run(sql`
    update meters set batch = ${id.number}, given_up = 1 where meter = ${id.meter}`)
  return false
}

/** What a bucket has used of a day: free units, and paid calls beyond them. */
export interface UsageDay {
  readonly used: number
  readonly paid: number
}

/** How many units a bucket asks for, and the quota that bounds its day. */
export interface Wanted {
  readonly units: number
  readonly quota: number
}

/** A bucket's day after units were taken; `granted` of them were left to take. */
export interface Taken extends UsageDay {
  readonly granted: number
}

/** The newest caller's quota bounds the bucket, so that a tier that changed counts at once. */
export function wantedOf(
  admits: readonly { readonly bucket: string; readonly dailyQuota: number }[],
): Map<string, Wanted> {
  const wanted = new Map<string, Wanted>()
  for (const { bucket, dailyQuota: quota } of admits)
    wanted.set(bucket, { units: (wanted.get(bucket)?.units ?? 0) + 1, quota })
  return wanted
}

/**
 * Takes free units for all buckets of a batch. One statement counts, decides and takes, so that no number
 * of replicas exceeds a quota; rows stand in the order of the names, so that batches cannot deadlock.
 * Buckets without a unit left are absent: their rows are locked, not written.
 */
export async function takeUnits(
  connection: Connection,
  day: number,
  wanted: ReadonlyMap<string, Wanted>,
): Promise<Map<string, Taken>> {
  const list = inOrder(wanted).map(([bucket, { units, quota }]) => {
    const first = Math.min(units, quota)
    return [day, bucket, first, first, quota, quota]
  })
  const taken = await connection.insert(TAKEN, list)
  return new Map(taken.map((row) => [column.text(row, 'bucket'), toTaken(row)]))
}

function toTaken(row: Row): Taken {
  return { ...toUsageDay(row), granted: column.integer(row, 'granted') }
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

/**
 * Locks the row of a bucket's day, which is made when it is the first of the day. Whoever changes a
 * balance before the day calls this first, since the meter locks the day first too.
 */
export async function lockUsageDay(
  connection: Connection,
  input: { readonly bucket: string; readonly day: number; readonly quota: number },
): Promise<void> {
  const { bucket, day, quota } = input
  await connection.run(sql`
    insert into usage_days (day, bucket, used, paid, granted, quota, quota_most)
    values (${day}, ${bucket}, 0, 0, 0, ${quota}, ${quota})
    on conflict (day, bucket) do update set used = usage_days.used`)
}

/** Counts paid calls; the buckets' rows are locked by `takeUnits` of the same transaction. */
export async function addPaid(
  connection: Connection,
  day: number,
  paid: ReadonlyMap<string, number>,
): Promise<void> {
  await connection.insert(
    PAID,
    inOrder(paid).map(([bucket, calls]) => [day, bucket, calls]),
  )
}

const PAID: BulkInsert = {
  table: 'usage_days',
  columns: { day: 'bigint', bucket: 'text', paid: 'bigint' },
  constants: { used: 0, granted: 0, quota: 0, quota_most: 0 },
  conflict: 'on conflict (day, bucket) do update set paid = usage_days.paid + excluded.paid',
}

/**
 * Counts free units of keys beside their wallet's count, whose row is locked by the same transaction.
 * A wallet's first key needs no row: its calls are what the others did not make. What a wallet of
 * several keys called before its keys were counted stands under the wallet's own bucket.
 */
export async function addKeyUnits(
  connection: Connection,
  day: number,
  units: ReadonlyMap<string, number>,
): Promise<void> {
  const list = inOrder(units)
  await connection.insert(
    COUNTED,
    list.map(([publicId, used]) => [day, publicId, used]),
  )
}

const COUNTED: BulkInsert = {
  table: 'key_days',
  columns: { day: 'bigint', public_id: 'text', used: 'bigint' },
  conflict: 'on conflict (day, public_id) do update set used = key_days.used + excluded.used',
}

export interface Standing {
  /** By bucket; a bucket that has not called is absent. */
  readonly days: ReadonlyMap<string, UsageDay>
  /** By account; an account that was never posted to is absent. */
  readonly balances: ReadonlyMap<string, MicroUsd>
}

/** How some buckets and accounts stand, in one statement. */
export async function readStanding(
  connection: Connection,
  day: number,
  asked: { readonly buckets: readonly string[]; readonly accounts: readonly string[] },
): Promise<Standing> {
  const found = await connection.run(sql`
    select 1 as is_day, bucket as name, used, paid, 0 as micro_usd from usage_days
    where day = ${day} and bucket ${inNames(asked.buckets)}
    union all
    select 0, account, 0, 0, micro_usd from (${balancesOf(asked.accounts)}) as held`)
  const days = new Map<string, UsageDay>()
  const balances = new Map<string, MicroUsd>()
  for (const row of found)
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
