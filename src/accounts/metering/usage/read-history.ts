import { keyAccount } from '#accounts/ledger/account.ts'
import { toAccount } from '#accounts/metering/meter/meter.ts'
import type { Caller } from '#base/caller.ts'
import type { MicroUsd } from '#base/money.ts'
import { lastDays } from '#base/time.ts'
import type { Connection } from '#db/engine.ts'
import { column, type Row, type Sql, sql } from '#db/sql.ts'

export interface HistoryInput {
  readonly caller: Caller
  readonly days: number
  readonly nowUnix: number
}

export interface Charged {
  readonly calls: number
  readonly paid: number
  readonly spent: MicroUsd
}

interface KeyCharged extends Charged {
  /** Null for keys beyond the limit, and for days before keys had their own counters. */
  readonly publicId: string | null
}

export interface HistoryDay extends Charged {
  /** Unix seconds (UTC). */
  readonly day: number
  readonly keys: readonly KeyCharged[]
}

/** Bounds the answer for wallets that rotate endlessly: it lists the first and the newest keys. */
const HISTORY_KEYS_MAX = 100

/** Returns UTC days up to today, oldest first, without gaps. */
export async function readHistory(
  connection: Connection,
  input: HistoryInput,
): Promise<readonly HistoryDay[]> {
  const { caller } = input
  const days = lastDays(input.nowUnix, input.days)
  const since = days[0] ?? 0
  const counted = await readCounted(connection, caller.bucket, since)
  const parts = caller.kind === 'keyed' ? await readKeys(connection, caller, since) : []
  const spent = caller.kind === 'keyed' ? [] : await readSpend(connection, toAccount(caller), since)
  return days.map((day) => {
    const { used, paid } = counted.get(day) ?? { used: 0, paid: 0 }
    if (caller.kind !== 'keyed') {
      const money = spent.find((each) => each.day === day)?.spent ?? 0n
      return { day, calls: used + paid, paid, spent: money, keys: [] }
    }
    const keys = splitDay(
      used,
      parts.filter((each) => each.day === day),
    )
    const money = keys.reduce((sum, each) => sum + each.spent, 0n)
    return { day, calls: used + paid, paid, spent: money, keys }
  })
}

async function readCounted(connection: Connection, bucket: string, since: number) {
  const found = await connection.run(sql`
    select day, used, paid from usage_days where bucket = ${bucket} and day >= ${since}`)
  return new Map(
    found.map((row) => [
      column.integer(row, 'day'),
      { used: column.integer(row, 'used'), paid: column.integer(row, 'paid') },
    ]),
  )
}

async function readSpend(connection: Connection, account: string, since: number) {
  const found = await connection.run(sql`
    select day, cast(sum(micro_usd) as bigint) as micro_usd from spend_days
    where account = ${account} and day >= ${since} group by day`)
  return found.map((row) => ({
    day: column.integer(row, 'day'),
    spent: column.amount(row, 'micro_usd'),
  }))
}

interface KeyPart extends KeyCharged {
  readonly day: number
  readonly isFirst: boolean
  readonly used: number
}

async function readKeys(
  connection: Connection,
  caller: Extract<Caller, { kind: 'keyed' }>,
  since: number,
): Promise<readonly KeyPart[]> {
  const found = await connection.run(sql`
    with told as (
      select public_id, is_first from keys where wallet = ${caller.wallet}
      order by is_first desc, created_unix desc, public_id limit ${HISTORY_KEYS_MAX}
    ), parts as (${selectParts(caller.wallet, caller.bucket, since)})
    select parts.day, told.public_id, coalesce(max(told.is_first), 0) as is_first,
      cast(sum(parts.used) as bigint) as used, cast(sum(parts.paid) as bigint) as paid,
      cast(sum(parts.micro_usd) as bigint) as micro_usd
    from parts left join told on told.public_id = parts.public_id
    group by parts.day, told.public_id`)
  return found.map(toKeyPart)
}

/** Returns what each key paid; the first key has 0 free calls here. */
function selectParts(wallet: string, bucket: string, since: number): Sql {
  return sql`
    select key_days.day, key_days.public_id, key_days.used, 0 as paid, 0 as micro_usd
    from keys join key_days on key_days.public_id = keys.public_id
    where keys.wallet = ${wallet} and key_days.day >= ${since}
    union all
    select day, public_id, used, 0, 0 from key_days
    where public_id = ${bucket} and day >= ${since}
    union all
    select usage_days.day, keys.public_id, 0, 0, 0
    from keys join usage_days on usage_days.bucket = 'wallet:' || keys.wallet
    where keys.wallet = ${wallet} and keys.is_first = 1 and usage_days.day >= ${since}
    union all
    select spend.day, keys.public_id, 0, spend.calls, spend.micro_usd
    from keys join spend_days as spend on spend.account = ${keyAccount('')} || keys.public_id
    where keys.wallet = ${wallet} and spend.day >= ${since}`
}

function toKeyPart(row: Row): KeyPart {
  const used = column.integer(row, 'used')
  const paid = column.integer(row, 'paid')
  return {
    day: column.integer(row, 'day'),
    publicId: column.textOrNull(row, 'public_id'),
    isFirst: column.flag(row, 'is_first'),
    used,
    calls: used + paid,
    paid,
    spent: column.amount(row, 'micro_usd'),
  }
}

/** The first key gets the remainder of the wallet's count. */
function splitDay(walletUsed: number, parts: readonly KeyPart[]): KeyCharged[] {
  const apart = parts.reduce((sum, each) => sum + each.used, 0)
  return parts
    .map(({ publicId, isFirst, calls, paid, spent }) => ({
      publicId,
      calls: isFirst ? calls + walletUsed - apart : calls,
      paid,
      spent,
    }))
    .filter((each) => each.calls > 0)
    .sort((a, b) => b.calls - a.calls || ((a.publicId ?? '') < (b.publicId ?? '') ? -1 : 1))
}
