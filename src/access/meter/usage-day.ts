import type { BulkInsert, Connection, Row } from '#store/engine.ts'
import { column } from '#store/row.ts'
import { join, type Sql, sql } from '#store/sql.ts'

/** What a bucket has used of a day: free units, and paid calls beyond them. */
export interface UsageDay {
  readonly used: number
  readonly paid: number
}

/** How many units a bucket asks for, the quota that bounds its day, and calls presumed to be paid. */
export interface Wanted {
  readonly units: number
  readonly quota: number
  readonly paid: number
}

/** A bucket's day after units were taken; `granted` of them were left to take. */
export interface Taken extends UsageDay {
  readonly granted: number
  /** Of the paid calls, those of this very batch. */
  readonly presumed: number
}

/**
 * Takes free units for all buckets of a batch and counts what is presumed to be paid. One statement
 * counts, decides and takes, so that no number of replicas passes a quota. Rows stand in the order of
 * the names, so that two batches never wait for one another.
 */
export async function takeUnits(
  connection: Connection,
  day: number,
  wanted: ReadonlyMap<string, Wanted>,
): Promise<Map<string, Taken>> {
  let isPaid = false
  const list = inOrder(wanted).map(([bucket, { units, quota, paid }]) => {
    const first = Math.min(units, quota)
    if (paid > 0) isPaid = true
    return [bucket, day, first, paid, first, quota, quota]
  })
  const taken = await connection.insert(isPaid ? TAKEN_AND_PAID : TAKEN, list)
  return new Map(
    taken.map((row) => {
      const bucket = column.text(row, 'bucket')
      return [bucket, toTaken(row, wanted.get(bucket)?.paid)]
    }),
  )
}

/** The newest caller's quota bounds the bucket: a tier that changed is the newest word on it. */
export function wantedOf<C extends { readonly bucket: string; readonly dailyQuota: number }>(
  admits: readonly C[],
  payers: ReadonlySet<C> = new Set(),
): Map<string, Wanted> {
  const wanted = new Map<string, Wanted>()
  for (const caller of admits) {
    const { bucket, dailyQuota: quota } = caller
    const { units, paid } = wanted.get(bucket) ?? NOTHING_WANTED
    const isPaid = payers.has(caller)
    wanted.set(bucket, { units: units + (isPaid ? 0 : 1), paid: paid + (isPaid ? 1 : 0), quota })
  }
  return wanted
}

const NOTHING_WANTED = { units: 0, paid: 0 }

/** In the order in which every batch takes its rows. */
export function wantedInOrder(
  wanted: ReadonlyMap<string, Wanted>,
): (Wanted & { readonly bucket: string })[] {
  return inOrder(wanted).map(([bucket, each]) => ({ bucket, ...each }))
}

/** A row that units were taken from. */
export function toTaken(row: Row, presumed = 0): Taken {
  const { used, paid } = toUsageDay(row)
  return { used, paid, granted: column.integer(row, 'granted'), presumed }
}

const GRANTED = `case
  when usage_days.used >= excluded.quota then 0
  when excluded.quota - usage_days.used < excluded.granted then excluded.quota - usage_days.used
  else excluded.granted end`

const CONFLICT = `on conflict (bucket, day) do update set
    granted = ${GRANTED}, used = usage_days.used + ${GRANTED}, quota = excluded.quota,
    quota_most = case when excluded.quota > usage_days.quota_most
      then excluded.quota else usage_days.quota_most end
    returning bucket, used, paid, granted`

/** What becomes of a day that stands already, and what is told of each. */
export const ON_TAKEN: Sql = { kind: 'sql', parts: [CONFLICT], values: [] }

const TAKEN: BulkInsert = {
  table: 'usage_days',
  columns: {
    bucket: 'text',
    day: 'bigint',
    used: 'bigint',
    paid: 'bigint',
    granted: 'bigint',
    quota: 'bigint',
    quota_most: 'bigint',
  },
  conflict: CONFLICT,
}

/** The store refuses paid calls of a bucket that has free units left, and with it the whole batch. */
const TAKEN_AND_PAID: BulkInsert = {
  ...TAKEN,
  conflict: CONFLICT.replace('update set', 'update set paid = usage_days.paid + excluded.paid,'),
}

/**
 * Takes the row of a bucket's day, which is made when it is the first of the day. Who will change a
 * balance before the day does so first: the meter takes the day first too, and neither waits in a circle.
 */
export async function lockUsageDay(
  connection: Connection,
  input: { readonly bucket: string; readonly day: number; readonly quota: number },
): Promise<void> {
  const { bucket, day, quota } = input
  await connection.run(sql`
    insert into usage_days (bucket, day, used, paid, granted, quota, quota_most)
    values (${bucket}, ${day}, 0, 0, 0, ${quota}, ${quota})
    on conflict (bucket, day) do update set used = usage_days.used`)
}

/** Counts paid calls; the buckets' rows are locked by `takeUnits` of the same transaction. */
export async function addPaid(
  connection: Connection,
  day: number,
  paid: ReadonlyMap<string, number>,
): Promise<void> {
  const list = inOrder(paid).map(([bucket, calls]) => [bucket, day, 0, calls, 0, 0])
  await connection.insert(PAID, list)
}

const PAID: BulkInsert = {
  table: 'usage_days',
  columns: {
    bucket: 'text',
    day: 'bigint',
    used: 'bigint',
    paid: 'bigint',
    granted: 'bigint',
    quota: 'bigint',
  },
  conflict: 'on conflict (bucket, day) do update set paid = usage_days.paid + excluded.paid',
}

/** Gives free units or paid calls of a day back; free units are lowered beside a count that only rises. */
export async function giveBackUnits(
  connection: Connection,
  input: { readonly bucket: string; readonly day: number } & UsageDay,
): Promise<void> {
  await connection.run(sql`
    update usage_days set used = used - ${input.used}, returned = returned + ${input.used},
      paid = paid - ${input.paid}
    where bucket = ${input.bucket} and day = ${input.day}`)
}

/** The day of some buckets; a bucket that has not called is absent. */
export async function readUsageDays(
  connection: Connection,
  day: number,
  buckets: readonly string[],
): Promise<Map<string, UsageDay>> {
  if (buckets.length === 0) return new Map()
  const found = await connection.run(sql`
    select bucket, used, paid from usage_days
    where day = ${day} and bucket in (${join(buckets)})`)
  return new Map(found.map((row) => [column.text(row, 'bucket'), toUsageDay(row)]))
}

function toUsageDay(row: Row): UsageDay {
  return { used: column.integer(row, 'used'), paid: column.integer(row, 'paid') }
}

/** By the names. */
export function inOrder<T>(map: ReadonlyMap<string, T>): [string, T][] {
  return [...map].sort(([a], [b]) => (a < b ? -1 : 1))
}
