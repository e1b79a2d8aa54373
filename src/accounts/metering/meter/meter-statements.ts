import { balancesOf } from '#accounts/ledger/balance.ts'
import type { MicroUsd } from '#domain/money.ts'
import type { BulkInsert, Connection, Row } from '#store/engine.ts'
import { column } from '#store/row.ts'
import { inNames, sql } from '#store/sql.ts'

/** Charged calls of a bucket on a day: free units and paid calls. */
export interface UsageDay {
  readonly used: number
  readonly paid: number
}

/** The day after units were taken, and how many of them. */
export interface TakenUnits extends UsageDay {
  readonly granted: number
}

/**
 * Counts, decides and takes in one statement, so that no number of replicas exceeds a quota. Name
 * order prevents deadlocks. Buckets without units left are absent: locked, not written.
 */
export async function takeUnits(
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

/** Needs the locks of `takeUnits` in this transaction. */
export async function addPaid(
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

/**
 * Needs the lock on the wallet's row. A wallet's first key has no row: its calls are the wallet's less those
 * of the other keys.
 */
export async function addKeyUnits(
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

/** Reads both in one statement, so that they are of one moment. */
export async function readUsage(
  connection: Connection,
  day: number,
  of: { readonly buckets: readonly string[]; readonly accounts: readonly string[] },
): Promise<Usage> {
  const rows = await connection.run(sql`
    select 1 as is_day, bucket as name, used, paid, 0 as micro_usd from usage_days
    where day = ${day} and bucket ${inNames(of.buckets)}
    union all
    select 0, account, 0, 0, micro_usd from (${balancesOf(of.accounts)}) as held`)
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
