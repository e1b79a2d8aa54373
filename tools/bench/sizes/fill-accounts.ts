import { DAY_SECONDS, startOfDay } from '#base/time.ts'
import type { Engine } from '#db/engine.ts'
import { sql } from '#db/sql.ts'
import { type SeededKey, seedAccounts } from '../seed-accounts.ts'

export interface AccountsSize {
  readonly keys: number
  readonly days: number
  /** Keys that made paid calls on each of the days. */
  readonly payers: number
  /** Wallets and addresses that made free calls on each of the days, half of each. */
  readonly freeADay: number
}

const PAYERS_AT_ONCE = 50

/** Accounts that the audit finds nothing in; gives the keys of those that pay. */
export async function fillAccounts(
  engine: Engine,
  size: AccountsSize,
  note: (line: string) => void,
): Promise<readonly SeededKey[]> {
  const { days, payers } = size
  const made: SeededKey[] = []
  while (made.length < payers) {
    const keys = Math.min(PAYERS_AT_ONCE, payers - made.length)
    made.push(...(await seedAccounts(engine, { keys, freeDays: days, paidDays: days })))
    if (made.length % 500 === 0) note(`${made.length} of ${payers} paying keys`)
  }
  await fillKeys(engine, size.keys - payers)
  note(`${size.keys} keys`)
  await fillFreeDays(engine, size)
  note(`${days} days of free calls`)
  await engine.read(sql`analyze`)
  return made
}

/** Of wallets with one key each, by numbers of their own. */
async function fillKeys(engine: Engine, keys: number): Promise<void> {
  await engine.writeWithoutTimeout(async (tx) => {
    const of = sql`generate_series(1, cast(${keys} as bigint)) as n`
    await tx.run(sql`
      insert into wallets (wallet, active_keys)
      select '0x' || lpad(to_hex(n), 40, '0'), 1 from ${of}`)
    // A number may be a random one's already.
    await tx.run(sql`
      insert into keys (public_id, secret_digest, wallet, created_unix)
      select lpad(to_hex(n), 8, '0'), md5('a' || n) || md5('b' || n),
        '0x' || lpad(to_hex(n), 40, '0'), 1 from ${of}
      on conflict (public_id) do nothing`)
    await tx.run(sql`
      delete from wallets where not exists (select 1 from keys where keys.wallet = wallets.wallet)`)
    await tx.run(sql`
      insert into used_messages (digest, wallet, action, used_unix)
      select md5('c' || public_id) || md5('d' || public_id), wallet, 'mint', 1 from keys
      where created_unix = 1`)
  })
}

async function fillFreeDays(engine: Engine, { days, freeADay }: AccountsSize): Promise<void> {
  const today = startOfDay(Math.floor(Date.now() / 1_000))
  await engine.writeWithoutTimeout(async (tx) => {
    for (let back = 0; back < days; back += 1)
      await tx.run(sql`
        insert into usage_days (day, bucket, used, paid, granted, quota, quota_most)
        select cast(${today - back * DAY_SECONDS} as bigint),
          case when n % 2 = 0 then 'wallet:0x' || lpad(to_hex(n), 40, '0')
            else '10.' || n / 65536 || '.' || n / 256 % 256 || '.' || n % 256 end,
          10, 0, 1, 100, 100
        from generate_series(1, cast(${freeADay} as bigint)) as n`)
    await tx.run(sql`
      insert into key_days (day, public_id, used)
      select day, coalesce(
        (select min(public_id) from keys where keys.wallet = substr(bucket, 8)), bucket), used
      from usage_days where bucket like 'wallet:%'`)
  })
}
