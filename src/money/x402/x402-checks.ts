import { type Check, DIFFERENCES_MAX, queryCheck } from '#accounts/ledger/check.ts'
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
]
