import { type Check, DIFFERENCES_MAX, queryCheck } from '#ledger/check.ts'
import { sql } from '#store/sql.ts'

/** What keys and usage promise, as queries for the audit. */
export const accessChecks: readonly Check[] = [
  queryCheck(
    'a wallet has as many active keys as are counted, and at most ten',
    sql`select wallets.wallet as subject, wallets.active_keys as expected,
        count(keys.public_id) as found
      from wallets left join keys
        on keys.wallet = wallets.wallet and keys.revoked_unix is null
      group by wallets.wallet, wallets.active_keys
      having count(keys.public_id) <> wallets.active_keys or wallets.active_keys > 10
      order by wallets.wallet limit ${DIFFERENCES_MAX}`,
  ),
  queryCheck(
    'the paid calls of a day are the calls that its accounts were debited for',
    sql`select owner as subject, cast(sum(paid) as bigint) as expected,
        cast(sum(calls) as bigint) as found
      from (
        select bucket as owner, day, paid, 0 as calls from usage_days where paid > 0
        union all
        select coalesce('wallet:' || keys.wallet, substr(spend_days.account, 8)), spend_days.day,
          0, spend_days.calls - spend_days.returned
        from spend_days left join keys on spend_days.account = 'key:' || keys.public_id
      ) as parts
      group by owner, day having sum(paid) <> sum(calls)
      order by owner, day limit ${DIFFERENCES_MAX}`,
  ),
  queryCheck(
    'every key has the shape that secrets and messages rely on',
    sql`select public_id as subject, 8 as expected, length(public_id) as found from keys
      where length(public_id) <> 8 or length(secret_digest) <> 64 or length(wallet) <> 42
        or wallet <> lower(wallet)
      order by public_id limit ${DIFFERENCES_MAX}`,
  ),
]
