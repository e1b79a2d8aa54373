import { showAddress } from '#domain/address.ts'
import { formatDecimal } from '#domain/money.ts'
import { toDate } from '#lib/time.ts'
import type { Connection } from '#store/engine.ts'
import { column, type Row, type Sql, sql } from '#store/sql.ts'

export const OWNERS = ['wallet', 'key'] as const

export type Owners = (typeof OWNERS)[number]

export interface OwnerUsage {
  readonly publicId?: string
  /** The owner's name for the key. */
  readonly label?: string | null
  readonly wallet: string
  readonly requestCount: number
  readonly overageCount: number
  readonly spentUsd: string
  readonly activeDays: number
  readonly mostInADay: number
  readonly lastDate: string
}

/** Calls since a midnight (UTC), most calls first. Anonymous callers own nothing. */
export async function readUsage(
  connection: Connection,
  { by, since }: { readonly by: Owners; readonly since: number },
): Promise<readonly OwnerUsage[]> {
  const owned = by === 'wallet' ? ofWallets(since) : ofKeys(since)
  const found = await connection.run(sql`
    select owner, keys.wallet, keys.label, cast(sum(calls) as bigint) as calls,
      cast(sum(paid) as bigint) as paid, cast(sum(spent) as bigint) as spent,
      count(*) as days, cast(max(calls) as bigint) as most, max(day) as last_day
    from (
      select owner, day, sum(calls) as calls, sum(paid) as paid, sum(spent) as spent
      from (${owned}) as parts group by owner, day having sum(calls) > 0
    ) as days left join keys on keys.public_id = owner
    group by owner, keys.wallet, keys.label order by calls desc, owner`)
  return found.map(toUsage)
}

function ofWallets(since: number): Sql {
  return sql`
    select substr(bucket, 8) as owner, day, used + paid as calls, paid, 0 as spent
    from usage_days where day >= ${since} and bucket like 'wallet:%'
    union all
    select keys.wallet, spend.day, 0, 0, spend.micro_usd
    from (${spendOf(since)}) as spend join keys on keys.public_id = spend.public_id`
}

/** The first key of a wallet has what no other key was counted for. */
function ofKeys(since: number): Sql {
  return sql`
    select keys.public_id as owner, key_days.day, key_days.used as calls, 0 as paid, 0 as spent
    from key_days join keys on keys.public_id = key_days.public_id where key_days.day >= ${since}
    union all
    select first.public_id, usage_days.day, usage_days.used, 0, 0
    from usage_days join keys as first
      on usage_days.bucket = 'wallet:' || first.wallet and first.is_first = 1
    where usage_days.day >= ${since}
    union all
    select first.public_id, key_days.day, -key_days.used, 0, 0
    from key_days left join keys on keys.public_id = key_days.public_id
      join keys as first on first.is_first = 1
        and first.wallet = coalesce(keys.wallet, substr(key_days.public_id, 8))
    where key_days.day >= ${since}
    union all
    select public_id, day, calls, calls, micro_usd from (${spendOf(since)}) as spend`
}

function spendOf(since: number): Sql {
  return sql`
    select substr(account, 5) as public_id, day, calls, micro_usd
    from spend_days where day >= ${since} and account like 'key:%'`
}

function toUsage(row: Row): OwnerUsage {
  const isKey = column.textOrNull(row, 'wallet') !== null
  return {
    ...(isKey && {
      publicId: column.text(row, 'owner'),
      label: column.textOrNull(row, 'label'),
    }),
    wallet: showAddress(column.hex(row, isKey ? 'wallet' : 'owner')),
    requestCount: column.integer(row, 'calls'),
    overageCount: column.integer(row, 'paid'),
    spentUsd: formatDecimal(column.amount(row, 'spent'), 6),
    activeDays: column.integer(row, 'days'),
    mostInADay: column.integer(row, 'most'),
    lastDate: toDate(column.integer(row, 'last_day')),
  }
}
