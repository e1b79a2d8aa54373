import { leadersMigration } from '#operations/jobs/leader.ts'
import type { Migration } from '#store/engine.ts'
import { guardsSql } from '#store/guard.ts'
import { creditedClaimsGuard, firstPaymentsGuards } from './payments-guards.ts'

const NOT_STORED = [
  ...['share', 'status', 'credited_micro_usd', 'confirmations', 'verified_unix', 'checked_ms'],
  ...['look_again', 'evicted'],
]

const DERIVED = `
  drop index claims_watched; drop index claims_placed; drop index claims_open; drop index claims_ended;
  ${NOT_STORED.map((column) => `alter table claims drop column ${column};`).join(' ')}
  create index claims_by_key on claims (public_id, trust, opened_unix);
  create index claims_by_opening on claims (opened_unix, id);
  create index claims_uncredited on claims (opened_unix, id) where was_credited = 0`

/** Ids 1300 to 1399 of the accounts store. */
export const paymentsMigrations: readonly Migration[] = [
  leadersMigration(1300),
  {
    id: 1301,
    name: 'prepayments',
    sql: `
      create table claims (
        id text primary key,
        public_id text not null,
        tx_hash text not null,
        owner text not null,
        payer_address text not null,
        by_owner smallint not null,
        trust smallint not null,
        share smallint not null,
        claimed_micro_usd bigint not null,
        status text not null,
        credited_micro_usd bigint,
        confirmations bigint not null,
        created_unix bigint not null,
        opened_unix bigint not null,
        verified_unix bigint,
        checked_ms bigint not null,
        was_credited smallint not null default 0,
        look_again smallint not null default 0,
        evicted smallint not null default 0,
        unique (public_id, tx_hash)
      );
      create index claims_by_tx on claims (tx_hash, created_unix, id);
      create index claims_watched on claims (checked_ms, id)
        where status in ('pending', 'confirming', 'reversed') or look_again = 1;
      create index claims_placed on claims (public_id, share, opened_unix, id)
        where status = 'pending' and evicted = 0;
      create index claims_open on claims (opened_unix, id)
        where status in ('pending', 'confirming');
      create index claims_ended on claims (opened_unix, id)
        where status in ('expired', 'unlinked', 'rejected') and was_credited = 0;
      create table claim_proofs (
        claim_id text not null references claims (id),
        payer_address text not null,
        message text not null,
        signature text not null,
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
      create unique index credits_live_log on credits (chain_id, block_hash, log_index)
        where reversed_unix is null;
      create index credits_by_claim on credits (claim_id);
      create index credits_unsettled on credits (block_number)
        where reversed_unix is null and settled = 0;
      create index credits_unrestored on credits (chain_id, tx_hash, position_in_tx)
        where reversed_unix is not null and restored = 0`,
  },
  { id: 1302, name: 'guards of claims and credits', sql: guardsSql(firstPaymentsGuards) },
  {
    id: 1303,
    name: 'logs that are numbered per transaction',
    sql: `
      drop index credits_live_log;
      create unique index credits_live_log on credits (chain_id, block_hash, tx_hash, log_index)
        where reversed_unix is null`,
  },
  {
    id: 1304,
    name: 'claims whose state is derived',
    sql: {
      sqlite: `drop trigger claims_go_back_by_a_reorg_only; ${DERIVED}`,
      postgres: `drop trigger claims_go_back_by_a_reorg_only on claims; ${DERIVED}`,
    },
  },
  { id: 1305, name: 'guard of credited claims', sql: guardsSql([creditedClaimsGuard]) },
  {
    id: 1306,
    name: 'proofs by contract wallets',
    sql: 'alter table claim_proofs add column by_contract smallint not null default 0',
  },
]
