import type { BulkInsert, Connection, Row } from '#store/engine.ts'
import { column } from '#store/row.ts'
import { sql } from '#store/sql.ts'

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

/** Refunds free units or paid calls of a day; free units are lowered beside a count that only rises. */
export async function giveBackUnits(
  connection: Connection,
  input: { readonly bucket: string; readonly day: number } & UsageDay,
): Promise<void> {
  await connection.run(sql`
    update usage_days set used = used - ${input.used}, returned = returned + ${input.used},
      paid = paid - ${input.paid}
    where day = ${input.day} and bucket = ${input.bucket}`)
}

export function toUsageDay(row: Row): UsageDay {
  return { used: column.integer(row, 'used'), paid: column.integer(row, 'paid') }
}

function inOrder<T>(map: ReadonlyMap<string, T>): [string, T][] {
  return [...map].sort(([a], [b]) => (a < b ? -1 : 1))
}
