import { type Check, DIFFERENCES_MAX, queryCheck } from '#accounts/ledger/check.ts'
import { sql } from '#store/sql.ts'
import { type CreditCheckDeps, creditChecks } from './credit-checks.ts'

export function paymentsChecks(deps: CreditCheckDeps): readonly Check[] {
  return [...STORE_CHECKS, ...creditChecks(deps)]
}

const STORE_CHECKS: readonly Check[] = [
  queryCheck(
    'each credit has its ledger entry, and a reversed one its reversal',
    sql`select credits.id as subject, credits.micro_usd as expected,
        cast(coalesce(sum(-postings.micro_usd), 0) as bigint) as found
      from credits left join postings
        on postings.entry_id in ('credit:' || credits.id, 'reversal:' || credits.id)
          and postings.account like 'chain_in:%'
      group by credits.id, credits.micro_usd, credits.reversed_unix
      having coalesce(sum(-postings.micro_usd), 0)
        <> case when credits.reversed_unix is null then credits.micro_usd else 0 end
      order by credits.id limit ${DIFFERENCES_MAX}`,
  ),
  queryCheck(
    'what came in from the chains is what live credits hold',
    sql`select account as subject, cast(sum(expected) as bigint) as expected,
        cast(sum(found) as bigint) as found
      from (
        select 'chain_in:' || cast(chain_id as text) as account, micro_usd as expected, 0 as found
        from credits where reversed_unix is null
        union all
        select account, 0, -micro_usd from postings where account like 'chain_in:%'
      ) as parts
      group by account having sum(expected) <> sum(found)
      order by account limit ${DIFFERENCES_MAX}`,
  ),
  queryCheck(
    'every credit or reversal entry belongs to a credit',
    sql`select journal_entries.id as subject, 1 as expected, 0 as found
      from journal_entries left join credits
        on credits.id = substr(journal_entries.id,
          case when journal_entries.kind = 'credit' then 8 else 10 end)
      where journal_entries.kind in ('credit', 'reversal') and credits.id is null
      order by journal_entries.id limit ${DIFFERENCES_MAX}`,
  ),
  queryCheck(
    'a transfer is credited at most once at a time',
    sql`select subject, 1 as expected, count(*) as found
      from (
        select 'transaction ' || tx_hash || ', transfer ' || cast(position_in_tx as text)
          as subject, chain_id
        from credits where reversed_unix is null
        union all
        select 'block ' || block_hash || ', transaction ' || tx_hash || ', log '
          || cast(log_index as text), chain_id
        from credits where reversed_unix is null
      ) as live
      group by chain_id, subject having count(*) > 1
      order by subject limit ${DIFFERENCES_MAX}`,
  ),
  queryCheck(
    'a claim says that it held money exactly if it was ever credited',
    sql`select claims.id as subject, claims.was_credited as expected,
        case when count(credits.id) > 0 then 1 else 0 end as found
      from claims left join credits on credits.claim_id = claims.id
      group by claims.id, claims.was_credited
      having claims.was_credited <> case when count(credits.id) > 0 then 1 else 0 end
      order by claims.id limit ${DIFFERENCES_MAX}`,
  ),
  queryCheck(
    'a key has one claim for a transaction, whatever the case of its hash',
    sql`select public_id || ' ' || lower(tx_hash) as subject, 1 as expected, count(*) as found
      from claims group by public_id, lower(tx_hash)
      having count(*) > 1 or min(length(tx_hash)) <> 66 or min(tx_hash) <> lower(min(tx_hash))
      order by public_id, lower(tx_hash) limit ${DIFFERENCES_MAX}`,
  ),
]
