import { type Check, DIFFERENCES_MAX, queryCheck } from '#accounts/ledger/check.ts'
import { sql } from '#store/sql.ts'

/** A move stays within a wallet, by rotation or message. */
const BETWEEN_KEYS = sql`source.wallet = target.wallet and case
  when entries.id like 'move:rotate:%'
    then entries.id = 'move:rotate:' || target.public_id and source.successor = target.public_id
  else entries.id like 'move:%' and exists (
    select 1 from used_messages where used_messages.digest = substr(entries.id, 6)
      and used_messages.action = 'move-balance' and used_messages.wallet = source.wallet) end`

/** Checks movements that are neither deposit nor spending. */
export const moveChecks: readonly Check[] = [
  queryCheck(
    'money moves within one wallet only, by a rotation or a signed message',
    sql`select entries.id as subject, 'a known cause within one wallet' as expected,
        entries.kind || ' of ' || coalesce(taken.account, 'nobody') || ' to '
          || coalesce(given.account, 'nobody') as found
      from journal_entries as entries
        left join postings as taken on taken.entry_id = entries.id and taken.line = 0
        left join postings as given on given.entry_id = entries.id and given.line = 1
        left join keys as source
          on taken.account like 'key:%' and source.public_id = substr(taken.account, 5)
        left join keys as target
          on given.account like 'key:%' and target.public_id = substr(given.account, 5)
      where entries.kind not in ('credit', 'reversal') and not (
        entries.kind = 'move' and coalesce(taken.micro_usd < 0, 1 = 0)
        and not exists (
          select 1 from postings where postings.entry_id = entries.id and postings.line > 1)
        and coalesce(${BETWEEN_KEYS}, 1 = 0))
      order by entries.id limit ${DIFFERENCES_MAX}`,
  ),
]
