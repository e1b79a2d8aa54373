import type { Address } from '#domain/address.ts'
import type { Connection, Engine } from '#store/engine.ts'
import { column } from '#store/row.ts'
import { join, sql } from '#store/sql.ts'
import { padded } from './padded.ts'

/** Free calls per UTC day that the operator grants to a wallet, whatever its tier. */
export interface GrantedQuota {
  readonly wallet: Address
  readonly dailyQuota: number
  /** The first second without it. */
  readonly untilUnix: number
  readonly reason: string
  readonly grantedUnix: number
}

/** Replaces an earlier one. The wallet has, or had, a key. */
export async function grantQuota(connection: Connection, granted: GrantedQuota): Promise<void> {
  const { wallet, dailyQuota, untilUnix, reason, grantedUnix } = granted
  await connection.run(sql`
    insert into granted_quotas (wallet, daily_quota, until_unix, reason, granted_unix)
    values (${wallet}, ${dailyQuota}, ${untilUnix}, ${reason}, ${grantedUnix})
    on conflict (wallet) do update set daily_quota = excluded.daily_quota,
      until_unix = excluded.until_unix, reason = excluded.reason,
      granted_unix = excluded.granted_unix`)
}

/** False if there was none. */
export async function withdrawQuota(connection: Connection, wallet: Address): Promise<boolean> {
  const gone = await connection.run(sql`
    delete from granted_quotas where wallet = ${wallet} returning wallet`)
  return gone.length > 0
}

/** Returns those in force. */
export async function readGrantedQuotas(
  engine: Engine,
  wallets: readonly Address[],
  nowUnix: number,
): Promise<Map<Address, number>> {
  const found = await engine.read(sql`
    select wallet, daily_quota from granted_quotas
    where until_unix > ${nowUnix} and wallet in (${join(padded(wallets))})`)
  return new Map(
    found.map((row) => [column.hex(row, 'wallet'), column.integer(row, 'daily_quota')]),
  )
}
