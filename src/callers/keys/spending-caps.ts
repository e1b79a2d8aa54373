import type { KeyLimits, ReachedCap } from '#domain/key-limits.ts'
import { type Refusal, refuse } from '#domain/refusal.ts'
import { keyAccount } from '#ledger/account.ts'
import { allEnded } from '#lib/all-ended.ts'
import { nextMidnight, toIso } from '#lib/time.ts'
import type { Connection } from '#store/engine.ts'
import { column } from '#store/row.ts'
import { inNames, sql } from '#store/sql.ts'
import { findKey, type Key, lockKey } from './key-store.ts'

export interface CapLeft {
  readonly paidCalls: number
  /** The cap that allows the fewest. */
  readonly cap: ReachedCap
}

/**
 * What caps leave, by account. Locks the keys, because replicas may be on different days of a month.
 */
export async function lockCaps(
  connection: Connection,
  day: number,
  publicIds: ReadonlySet<string>,
): Promise<Map<string, CapLeft>> {
  const locked = await allEnded(
    [...publicIds].sort().map((publicId) => lockKey(connection, publicId)),
  )
  return capsOf(connection, day, locked)
}

/** Reads what `lockCaps` does, without locks: use it for display only. */
export async function readCaps(
  connection: Connection,
  day: number,
  publicIds: ReadonlySet<string>,
): Promise<Map<string, CapLeft>> {
  const found = await allEnded([...publicIds].map((each) => findKey(connection, each)))
  return capsOf(connection, day, found)
}

async function capsOf(
  connection: Connection,
  day: number,
  found: readonly (Key | undefined)[],
): Promise<Map<string, CapLeft>> {
  const keys = found.flatMap((key) => key ?? [])
  const paid = await readPaidCalls(connection, day, keys)
  const left = new Map<string, CapLeft>()
  for (const { publicId, limits = {} } of keys) {
    const cap = capLeft(limits, day, paid.get(publicId))
    if (cap !== undefined) left.set(keyAccount(publicId), cap)
  }
  return left
}

export interface PaidCalls {
  readonly ofDay: number
  readonly ofMonth: number
}

/** Counts keys with those that they replaced. */
export async function readPaidCalls(
  connection: Connection,
  day: number,
  keys: readonly Pick<Key, 'publicId' | 'limits'>[],
): Promise<Map<string, PaidCalls>> {
  const { start, end } = monthOf(day)
  const paidFrom = (from: number, until: number) => sql`cast((
    select coalesce(sum(calls), 0) from spend_days
    where account = ${keyAccount('')} || keys.public_id and day >= ${from} and day < ${until}
  ) as bigint)`
  // Subqueries, so that no plan reads the month of every key.
  const found = await connection.run(sql`
    select public_id, ${paidFrom(day, nextMidnight(day))} as of_day, ${paidFrom(start, end)} as of_month
    from keys where public_id ${inNames(keys.map(({ publicId }) => publicId))}`)
  const own = new Map(found.map((row) => [column.text(row, 'public_id'), row]))
  return new Map(
    keys.map(({ publicId, limits }) => {
      const row = own.get(publicId)
      const before = limits?.paidBefore
      const ofDay = before?.day === day ? before.ofDay : 0
      const isOfMonth = before !== undefined && before.day >= start && before.day < end
      const ofMonth = isOfMonth ? before.ofMonth : 0
      if (row === undefined) return [publicId, { ofDay, ofMonth }]
      return [
        publicId,
        {
          ofDay: ofDay + column.integer(row, 'of_day'),
          ofMonth: ofMonth + column.integer(row, 'of_month'),
        },
      ]
    }),
  )
}

export function capLeft(
  { dailyPaidCalls, monthlyPaidCalls }: KeyLimits,
  day: number,
  paid: PaidCalls = { ofDay: 0, ofMonth: 0 },
): CapLeft | undefined {
  const caps: CapLeft[] = []
  if (monthlyPaidCalls !== undefined)
    caps.push({
      paidCalls: Math.max(0, monthlyPaidCalls - paid.ofMonth),
      cap: { period: 'month', paidCalls: monthlyPaidCalls, resetUnix: monthOf(day).end },
    })
  if (dailyPaidCalls !== undefined)
    caps.push({
      paidCalls: Math.max(0, dailyPaidCalls - paid.ofDay),
      cap: { period: 'day', paidCalls: dailyPaidCalls, resetUnix: nextMidnight(day) },
    })
  // The sort is stable: if both are used up, the month's cap is named.
  return caps.sort((a, b) => a.paidCalls - b.paidCalls)[0]
}

/** Midnights (UTC) of the first day of a month and of the next. */
export function monthOf(unix: number): { readonly start: number; readonly end: number } {
  const date = new Date(unix * 1000)
  const [year, month] = [date.getUTCFullYear(), date.getUTCMonth()]
  return { start: Date.UTC(year, month) / 1000, end: Date.UTC(year, month + 1) / 1000 }
}

/** The status is 403, not 402, because paying more does not help. */
export function refuseSpending({ period, paidCalls, resetUnix }: ReachedCap): Refusal {
  const limit = period === 'day' ? 'dailyPaidCalls' : 'monthlyPaidCalls'
  return refuse(
    'spending_limit_reached',
    `the owner of this key allows ${paidCalls} paid calls a ${period}, and they are used up until ${toIso(resetUnix)}`,
    { members: { limit, paidCalls, resetUnix } },
  )
}
