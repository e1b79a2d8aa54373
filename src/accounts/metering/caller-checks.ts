import { type Check, queryCheck } from '#accounts/ledger/check.ts'
import { DAY_SECONDS } from '#base/time.ts'
import { sql } from '#db/sql.ts'

/** Calls counted a day or more after the revocation, to allow for clock skew. */
const CALLS_AFTER_REVOCATION = sql`
  select keys.public_id as subject, spend.calls
  from keys join spend_days as spend on spend.account = 'key:' || keys.public_id
  where spend.day > keys.revoked_unix + ${DAY_SECONDS}
  union all
  select keys.public_id, key_days.used
  from keys join key_days on key_days.public_id = keys.public_id
  where key_days.day > keys.revoked_unix + ${DAY_SECONDS}`

export const callerChecks: readonly Check[] = [
  queryCheck(
    "a wallet's count of active keys is right, and at most ten",
    sql`select wallets.wallet as subject, wallets.active_keys as expected,
        count(keys.public_id) as found
      from wallets left join keys
        on keys.wallet = wallets.wallet and keys.revoked_unix is null
      group by wallets.wallet, wallets.active_keys
      having count(keys.public_id) <> wallets.active_keys or wallets.active_keys > 10`,
  ),
  queryCheck(
    'the paid calls of a day are the calls that its accounts were debited for',
    sql`select owner as subject, cast(sum(paid) as bigint) as expected,
        cast(sum(calls) as bigint) as found
      from (
        select bucket as owner, day, paid, 0 as calls from usage_days where paid > 0
        union all
        select coalesce('wallet:' || keys.wallet, substr(spend.account, 8)), spend.day,
          0, spend.calls
        from spend_days as spend left join keys
          on keys.public_id = substr(spend.account, 5) and spend.account like 'key:%'
      ) as parts
      group by owner, day having sum(paid) <> sum(calls)`,
  ),
  queryCheck(
    'the free calls of a wallet are those of its keys',
    sql`select owner as subject, cast(sum(used) as bigint) as expected,
        cast(sum(apart) as bigint) as found
      from (
        select bucket as owner, day, used, 0 as apart from usage_days where bucket like 'wallet:%'
        union all
        select coalesce('wallet:' || keys.wallet, key_days.public_id), key_days.day, 0,
          key_days.used
        from key_days left join keys on keys.public_id = key_days.public_id
      ) as parts
      group by owner, day having sum(apart) <> sum(used)`,
  ),
  queryCheck(
    'a wallet has as many keys as it signed mints and rotated keys',
    sql`select wallet as subject, cast(sum(minted) as bigint) as expected,
        cast(sum(made) as bigint) as found
      from (
        select wallet, 0 as minted, 1 as made from keys
        union all select wallet, 1, 0 from used_messages where action = 'mint'
        union all select wallet, 1, 0 from keys where successor is not null
      ) as parts
      group by wallet having sum(minted) <> sum(made)`,
  ),
  queryCheck(
    'every key balance belongs to an existing key',
    sql`select account as subject, 1 as expected, 0 as found from balances
      where account like 'key:%' and not exists (
        select 1 from keys where keys.public_id = substr(balances.account, 5))`,
  ),
  queryCheck(
    'a rotated key is revoked, and its successor is another key of its wallet',
    sql`select keys.public_id as subject, 1 as expected, 0 as found
      from keys left join keys as newer on newer.public_id = keys.successor
      where keys.successor is not null and (newer.public_id is null
        or newer.wallet <> keys.wallet or newer.public_id = keys.public_id
        or keys.revoked_unix is null)`,
  ),
  queryCheck(
    'a revoked key has no charges on later days',
    sql`select subject, 0 as expected, cast(sum(calls) as bigint) as found
      from (${CALLS_AFTER_REVOCATION}) as late
      where calls > 0 group by subject`,
  ),
]
