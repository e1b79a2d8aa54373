import { type Check, DIFFERENCES_MAX, queryCheck } from '#ledger/check.ts'
import { sql } from '#store/sql.ts'

export const x402Checks: readonly Check[] = [
  queryCheck(
    'a settled x402 payment has one live credit, of its transaction, its payer and its sum',
    sql`select payments.id as subject,
        'live credit of ' || cast(payments.micro_usd as text) || ' by ' || payments.payer
          || ' in ' || coalesce(payments.tx_hash, 'no transaction') as expected,
        case when credits.id is null then 'none'
          when credits.reversed_unix is not null then 'a reversed one'
          else cast(credits.micro_usd as text) || ' by ' || credits.payer_address
            || ' in ' || credits.tx_hash end as found
      from x402_intents as payments left join credits on credits.id = payments.credit_id
      where payments.status = 'credited' and (credits.id is null
        or credits.reversed_unix is not null or credits.chain_id <> payments.chain_id
        or credits.micro_usd <> payments.micro_usd or credits.payer_address <> payments.payer
        or payments.tx_hash is null or credits.tx_hash <> payments.tx_hash
        or credits.claim_id is not null)
      order by payments.id limit ${DIFFERENCES_MAX}`,
  ),
  queryCheck(
    'every live credit without a claim is of one settled x402 payment',
    sql`select credits.id as subject, 1 as expected, count(payments.id) as found
      from credits left join x402_intents as payments
        on payments.credit_id = credits.id and payments.status = 'credited'
      where credits.claim_id is null and credits.reversed_unix is null
      group by credits.id having count(payments.id) <> 1
      order by credits.id limit ${DIFFERENCES_MAX}`,
  ),
  queryCheck(
    'every reversed credit without a claim was of an x402 payment',
    sql`select credits.id as subject, 1 as expected, 0 as found
      from credits
      where credits.claim_id is null and credits.reversed_unix is not null
        and not exists (
          select 1 from x402_intents as payments
          where payments.chain_id = credits.chain_id and payments.payer = credits.payer_address
            and payments.micro_usd = credits.micro_usd)
      order by credits.id limit ${DIFFERENCES_MAX}`,
  ),
  queryCheck(
    'an x402 payment is credited where it said',
    sql`select payments.id as subject, payments.payee_kind || ' ' || payments.payee as expected,
        credits.account as found
      from x402_intents as payments join credits on credits.id = payments.credit_id
      where (payments.payee_kind = 'bucket' and credits.account <> 'bucket:' || payments.payee)
        or (payments.payee_kind = 'key' and (payments.payee_wallet is null
          or credits.owner <> payments.payee_wallet or not exists (
            select 1 from keys
            where 'key:' || keys.public_id = credits.account
              and keys.wallet = payments.payee_wallet)))
      order by payments.id limit ${DIFFERENCES_MAX}`,
  ),
  queryCheck(
    'an x402 payment that is not settled holds no live credit',
    sql`select payments.id as subject, 0 as expected, 1 as found
      from x402_intents as payments join credits on credits.id = payments.credit_id
      where payments.status <> 'credited' and credits.reversed_unix is null
      order by payments.id limit ${DIFFERENCES_MAX}`,
  ),
  queryCheck(
    'an x402 payment is in a state that its past allows, with the transaction that belongs to it',
    sql`select id || ' ' || status as subject, 1 as expected, 0 as found from x402_intents
      where status not in
          ('reserved', 'submitted', 'credited', 'abandoned', 'failed', 'claimed')
        or (status = 'reserved' and (tx_hash is not null or credit_id is not null))
        or (status = 'credited' and (tx_hash is null or credit_id is null))
        or (served = 1 and credit_id is null)
      order by id limit ${DIFFERENCES_MAX}`,
  ),
  queryCheck(
    'what wallets have collected is what their entries moved to them',
    sql`select entry_id as subject, cast(sum(collected) as bigint) as expected,
        cast(sum(moved) as bigint) as found
      from (
        select entry_id, micro_usd as collected, 0 as moved from x402_collected
        where entry_id is not null
        union all
        select postings.entry_id, 0, postings.micro_usd
        from postings join journal_entries on journal_entries.id = postings.entry_id
        where postings.entry_id like 'collect:%'
          and postings.account = 'bucket:payer:' || journal_entries.reference
      ) as parts
      group by entry_id having sum(collected) <> sum(moved)
      order by entry_id limit ${DIFFERENCES_MAX}`,
  ),
  queryCheck(
    'a wallet collects its own payments only, and no more than their amount',
    sql`select collected.credit_id as subject, credits.micro_usd as expected,
        collected.micro_usd as found
      from x402_collected as collected join credits on credits.id = collected.credit_id
        left join journal_entries on journal_entries.id = collected.entry_id
      where collected.micro_usd > credits.micro_usd
        or (collected.micro_usd > 0 and (journal_entries.id is null
          or journal_entries.reference <> credits.owner))
      order by collected.credit_id limit ${DIFFERENCES_MAX}`,
  ),
  queryCheck(
    'a reorg takes no more from a shared address than was left of the payment itself',
    sql`select credits.id as subject, its_own as expected, taken as found
      from (
        select credits.id, -sum(took.micro_usd) as taken,
          (select case when exists (
              select 1 from x402_collected where x402_collected.credit_id = credits.id) then 0
            else coalesce(sum(brought.micro_usd), 0) end
          from postings as brought
          where brought.entry_id = 'credit:' || credits.id
            and brought.account = credits.account) as its_own
        from credits join postings as took
          on took.entry_id = 'reversal:' || credits.id and took.account = credits.account
        where credits.account like 'bucket:%' and credits.account not like 'bucket:payer:%'
        group by credits.id, credits.account
      ) as credits
      where taken > its_own order by credits.id limit ${DIFFERENCES_MAX}`,
  ),
]
