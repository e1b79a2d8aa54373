import type { Tables } from '#db/engine.ts'
import { type Guard, guardsSql } from '#db/guard.ts'
import { leaderTables } from '#index/leader.ts'
import { depositsTables } from './deposits.ts'

export const paymentsGuards: readonly Guard[] = [
  { table: 'claims', name: 'claims_stay_with_money', on: 'delete', when: 'old.was_credited = 1' },
  {
    table: 'claims',
    name: 'claims_keep_who_they_are',
    on: 'update',
    columns: 'id, public_id, tx_hash, owner, created_unix',
    when: `new.id <> old.id or new.public_id <> old.public_id or new.tx_hash <> old.tx_hash
    or new.owner <> old.owner or new.created_unix <> old.created_unix`,
  },
  {
    table: 'claims',
    name: 'claims_stay_credited',
    on: 'update',
    columns: 'was_credited',
    when: 'new.was_credited < old.was_credited',
  },
  { table: 'credits', name: 'credits_stay', on: 'delete' },
  {
    table: 'credits',
    name: 'credits_never_change',
    on: 'update',
    columns: `id, account, owner, claim_id, chain_id, tx_hash, position_in_tx, block_number,
      block_hash, log_index, payer_address, micro_usd, created_unix`,
  },
  {
    table: 'credits',
    name: 'credits_are_reversed_once',
    on: 'update',
    columns: 'reversed_unix',
    when: 'old.reversed_unix is not null',
  },
]

export const paymentsTables: readonly Tables[] = [
  leaderTables,
  depositsTables,
  `
      create table claims (
        id text primary key,
        public_id text not null,
        tx_hash text not null,
        owner text not null,
        payer_address text not null,
        by_owner smallint not null,
        trust smallint not null,
        claimed_micro_usd bigint not null,
        created_unix bigint not null,
        opened_unix bigint not null,
        was_credited smallint not null default 0,
        unique (public_id, tx_hash)
      );
      create index claims_by_tx on claims (tx_hash, created_unix, id);
      create index claims_by_opening on claims (opened_unix, id);
      create index claims_uncredited on claims (opened_unix, id) where was_credited = 0;
      create table claim_proofs (
        claim_id text not null references claims (id),
        payer_address text not null,
        message text not null,
        signature text not null,
        by_contract smallint not null default 0,
        primary key (claim_id, payer_address)
      );
      create table credits (
        id text primary key,
        account text not null,
        owner text not null,
        claim_id text references claims (id),
        chain_id bigint not null,
        tx_hash text not null,
        position_in_tx bigint not null,
        block_number bigint not null,
        block_hash text not null,
        log_index bigint not null,
        payer_address text not null,
        micro_usd bigint not null check (micro_usd > 0),
        created_unix bigint not null,
        reversed_unix bigint,
        settled smallint not null default 0,
        restored smallint not null default 0
      );
      create unique index credits_live on credits (chain_id, tx_hash, position_in_tx)
        where reversed_unix is null;
      create unique index credits_live_log on credits (chain_id, block_hash, tx_hash, log_index)
        where reversed_unix is null;
      create index credits_by_claim on credits (claim_id);
      create index credits_unsettled on credits (block_number)
        where reversed_unix is null and settled = 0;
      create index credits_unrestored on credits (chain_id, tx_hash, position_in_tx)
        where reversed_unix is not null and restored = 0`,
  guardsSql(paymentsGuards),
]
