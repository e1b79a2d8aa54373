import type { KeyLimits, ReachedCap } from '#domain/key-limits.ts'
import { type Refusal, refuse } from '#domain/refusal.ts'
import { keyAccount } from '#ledger/account.ts'
import { nextMidnight, toIso } from '#lib/time.ts'
import type { Connection } from '#store/engine.ts'
import { column } from '#store/row.ts'
import { inNames, sql } from '#store/sql.ts'
import { lockKey } from '../keys/key-store.ts'

export interface CapLeft {
  readonly paidCalls: number
  /** The cap that allows the fewest. */
  readonly cap: ReachedCap
}

/**
 * What the caps of these keys leave, by account. Locks the keys in name order, so that no two replicas
 * decide on one cap at once, whatever day each has.
 */
export async function lockCaps(
  connection: Connection,
  day: number,
  publicIds: ReadonlySet<string>,
): Promise<Map<string, CapLeft>> {
  const locked = await Promise.all(
    [...publicIds].sort().map((publicId) => lockKey(connection, publicId)),
  )
  const paid = await readPaidCalls(connection, day, [...publicIds])
  const left = new Map<string, CapLeft>()
  for (const key of locked) {
    const cap = key?.limits && capLeft(key.limits, day, paid.get(key.publicId))
    if (key !== undefined && cap !== undefined) left.set(keyAccount(key.publicId), cap)
  }
  return left
}

export interface PaidCalls {
  readonly day: number
  readonly month: number
}

/** Of a key and those that it replaced; calls that were given back do not count. */
export async function readPaidCalls(
  connection: Connection,
  day: number,
  publicIds: readonly string[],
): Promise<Map<string, PaidCalls>> {
  const found = await connection.run(sql`
    with recursive line (newest, public_id) as (
      select public_id, public_id from keys where public_id ${inNames(publicIds)}
      union all
      select line.newest, keys.public_id from line join keys on keys.successor = line.public_id
    )
    select line.newest,
      cast(sum(case when spend_days.day = ${day} then calls - returned else 0 end) as bigint) as of_day,
      cast(sum(calls - returned) as bigint) as of_month
    from line join spend_days on spend_days.account = ${keyAccount('')} || line.public_id
    where spend_days.day >= ${monthOf(day).start} and spend_days.day < ${monthOf(day).end}
    group by line.newest`)
  return new Map(
    found.map((row) => [
      column.text(row, 'newest'),
      { day: column.integer(row, 'of_day'), month: column.integer(row, 'of_month') },
    ]),
  )
}

function capLeft(
  { dailyPaidCalls, monthlyPaidCalls }: KeyLimits,
  day: number,
  paid: PaidCalls = { day: 0, month: 0 },
): CapLeft | undefined {
  const caps: CapLeft[] = []
  if (monthlyPaidCalls !== undefined)
    caps.push({
      paidCalls: Math.max(0, monthlyPaidCalls - paid.month),
      cap: { period: 'month', paidCalls: monthlyPaidCalls, resetUnix: monthOf(day).end },
    })
  if (dailyPaidCalls !== undefined)
    caps.push({
      paidCalls: Math.max(0, dailyPaidCalls - paid.day),
      cap: { period: 'day', paidCalls: dailyPaidCalls, resetUnix: nextMidnight(day) },
    })
  // Of two that are used up, the one that lasts longer.
  return caps.sort((a, b) => a.paidCalls - b.paidCalls)[0]
}

/** Midnights (UTC) of the first day of a month and of the next. */
export function monthOf(unix: number): { readonly start: number; readonly end: number } {
  const date = new Date(unix * 1000)
  const [year, month] = [date.getUTCFullYear(), date.getUTCMonth()]
  return { start: Date.UTC(year, month) / 1000, end: Date.UTC(year, month + 1) / 1000 }
}

/** Not a 402: whoever pays more does not get further. */
export function refuseSpending({ period, paidCalls, resetUnix }: ReachedCap): Refusal {
  const limit = period === 'day' ? 'dailyPaidCalls' : 'monthlyPaidCalls'
  return refuse(
    'spending_limit_reached',
    `the owner of this key allows ${paidCalls} paid calls a ${period}, and they are used up until ${toIso(resetUnix)}`,
    { members: { limit, paidCalls, resetUnix } },
  )
}
