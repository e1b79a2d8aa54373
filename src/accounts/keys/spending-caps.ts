import { keyAccount, toAmounts } from '#accounts/ledger/ledger.ts'
import { allEnded } from '#base/async.ts'
import type { KeyLimits, ReachedCap } from '#base/key-limits.ts'
import { type MicroUsd, toUsd } from '#base/money.ts'
import { type Refusal, refuse } from '#base/refusal.ts'
import { nextMidnight, toIso } from '#base/time.ts'
import type { Connection } from '#db/engine.ts'
import { inNames, sql } from '#db/sql.ts'
import { findKey, lockKey } from './key-store.ts'

export interface CapLeft {
  readonly left: MicroUsd
  readonly cap: ReachedCap
}

/** Returns what each account's cap leaves. `lock` keeps the keys from rotating, which would take the spent amount along. */
export async function readCaps(
  connection: Connection,
  day: number,
  { publicIds, lock }: { readonly publicIds: ReadonlySet<string>; readonly lock: boolean },
): Promise<Map<string, CapLeft>> {
  const read = lock ? lockKey : findKey
  const found = await allEnded([...publicIds].sort().map((each) => read(connection, each)))
  const keys = found.flatMap((key) => key ?? [])
  const spent = await readSpent(connection, day, keys)
  const left = new Map<string, CapLeft>()
  for (const { publicId, limits } of keys) {
    const microUsd = limits?.dailyCapMicroUsd
    if (microUsd === undefined) continue
    const cap = { microUsd, resetUnix: nextMidnight(day) }
    left.set(keyAccount(publicId), { left: microUsd - (spent.get(publicId) ?? 0n), cap })
  }
  return left
}

/** Returns what keys and their predecessors spent on a day. */
export async function readSpent(
  connection: Connection,
  day: number,
  keys: readonly { readonly publicId: string; readonly limits?: KeyLimits | undefined }[],
): Promise<Map<string, MicroUsd>> {
  const accounts = keys.map(({ publicId }) => keyAccount(publicId))
  const found = await connection.run(sql`
    select account, cast(sum(micro_usd) as bigint) as micro_usd from spend_days
    where day = ${day} and account ${inNames(accounts)} group by account`)
  const own = toAmounts(found)
  return new Map(
    keys.map(({ publicId, limits }) => {
      const before = limits?.spentBefore
      const earlier = before?.day === day ? before.microUsd : 0n
      return [publicId, earlier + (own.get(keyAccount(publicId)) ?? 0n)]
    }),
  )
}

/** The status is 403, not 402, because paying more does not help. */
export function refuseSpending({ microUsd, resetUnix }: ReachedCap): Refusal {
  const dailyCapUsd = toUsd(microUsd)
  return refuse(
    'spending_limit_reached',
    `the owner of this key allows ${dailyCapUsd} USD a day, and they are used up until ${toIso(resetUnix)}`,
    { members: { dailyCapUsd, resetUnix } },
  )
}
