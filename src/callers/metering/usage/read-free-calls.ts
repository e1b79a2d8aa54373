import type { Address } from '#domain/address.ts'
import type { Row } from '#store/engine.ts'
import { column } from '#store/row.ts'
import { type Sql, sql } from '#store/sql.ts'

/** Returns one key's days from midnight to midnight, oldest first; days without calls are left out. */
export async function readFreeCalls(
  reads: { run(statement: Sql): Promise<readonly Row[]> },
  input: {
    readonly key: { readonly publicId: string; readonly wallet: Address; readonly isFirst: boolean }
    readonly from: number
    readonly to: number
  },
): Promise<readonly { readonly day: number; readonly calls: number }[]> {
  const { key, from, to } = input
  const days = sql`day >= ${from} and day < ${to}`
  const own = sql`select day, used from key_days where public_id = ${key.publicId} and ${days}`
  const found = await reads.run(sql`
    select day, cast(sum(used) as bigint) as used
    from (${own} ${key.isFirst ? remainderOf(key.wallet, days) : sql``}) as parts
    group by day having sum(used) > 0 order by day`)
  return found.map((row) => ({
    day: column.integer(row, 'day'),
    calls: column.integer(row, 'used'),
  }))
}

/** A wallet's first key has what no other key was counted for. */
function remainderOf(wallet: Address, days: Sql): Sql {
  const bucket = `wallet:${wallet}`
  return sql`
    union all select day, used from usage_days where bucket = ${bucket} and ${days}
    union all select day, -used from key_days where public_id = ${bucket} and ${days}
    union all select day, -used from key_days
      where public_id in (select public_id from keys where wallet = ${wallet}) and ${days}`
}
