import type { Migration } from '#store/engine.ts'
import { guardsSql } from '#store/guard.ts'
import { collectedGuards, intentsStay, replacedGuards, x402Guards } from './x402-guards.ts'

const ABANDONED = `create index x402_intents_abandoned on x402_intents (created_unix, id)
  where status = 'abandoned';`

/** Tables of x402 payments; ids 400 to 499 of the accounts store. */
export const x402Migrations: readonly Migration[] = [
  {
    id: 400,
    name: 'x402 payments',
    sql: `
      create table x402_intents (
        id text primary key,
        chain_id bigint not null,
        asset text not null,
        payer text not null,
        nonce text not null,
        pay_to text not null,
        micro_usd bigint not null check (micro_usd > 0),
        valid_after text not null,
        valid_before text not null,
        signature text not null,
        payee_kind text not null check (payee_kind in ('key', 'bucket')),
        payee text not null,
        payee_wallet text,
        status text not null,
        created_unix bigint not null,
        from_block bigint not null,
        tx_hash text,
        raw text,
        settler text,
        tx_nonce bigint,
        reserved_gwei bigint not null default 0,
        gas_day bigint not null default 0,
        credit_id text unique references credits (id),
        unique (chain_id, asset, payer, nonce)
      );
      create index x402_intents_open on x402_intents (created_unix, id)
        where status in ('reserved', 'submitted');
      create index x402_intents_by_tx on x402_intents (tx_hash) where tx_hash is not null;
      create table x402_settlers (
        chain_id bigint not null,
        settler text not null,
        next_nonce bigint not null,
        used_unix bigint not null,
        gas_day bigint not null,
        gas_gwei bigint not null,
        primary key (chain_id, settler)
      )`,
  },
  { id: 401, name: 'guards of x402 payments', sql: guardsSql(x402Guards) },
  {
    id: 402,
    name: 'wallets that sign in',
    sql: `
      create table x402_sign_ins (
        wallet text not null,
        nonce text not null,
        bucket text not null,
        until_ms bigint not null,
        primary key (wallet, nonce)
      );
      create index x402_sign_ins_by_end on x402_sign_ins (until_ms);
      create table x402_collected (
        credit_id text primary key references credits (id),
        micro_usd bigint not null check (micro_usd >= 0),
        entry_id text
      );
      create index credits_by_owner on credits (owner, account) where reversed_unix is null;
      create index credits_by_account on credits (account, created_unix, id)
        where reversed_unix is null`,
  },
  { id: 403, name: 'guards of what wallets collected', sql: guardsSql(collectedGuards) },
  {
    id: 404,
    name: 'payments that moved nothing may go',
    sql: {
      sqlite: `drop trigger x402_intents_stay; ${guardsSql([intentsStay]).sqlite} ${ABANDONED}`,
      postgres: `drop trigger x402_intents_stay on x402_intents;
        drop trigger x402_intents_stay_truncate on x402_intents;
        ${guardsSql([intentsStay]).postgres} ${ABANDONED}`,
    },
  },
  {
    id: 405,
    name: 'transactions that were replaced',
    sql: `
      create table x402_replaced (
        tx_hash text primary key,
        intent_id text not null references x402_intents (id)
      )`,
  },
  { id: 406, name: 'guards of replaced transactions', sql: guardsSql(replacedGuards) },
  {
    id: 407,
    name: 'nonces until they are used up, and payments until nobody can send them',
    sql: `
      alter table x402_intents add column own_hash text;
      alter table x402_intents add column nonce_open bigint not null default 0;
      alter table x402_intents add column look_unix bigint;
      update x402_intents set own_hash = tx_hash where raw is not null;
      update x402_intents set nonce_open = 1
        where raw is not null and status in ('submitted', 'failed');
      update x402_intents set look_unix = 0 where status in ('abandoned', 'failed');
      create index x402_intents_by_nonce on x402_intents (chain_id, settler, tx_nonce)
        where settler is not null;
      create index x402_intents_nonce_open on x402_intents (chain_id, settler, tx_nonce)
        where nonce_open = 1;
      create index x402_intents_to_look_at on x402_intents (look_unix, id)
        where look_unix is not null;
      create index x402_replaced_by_intent on x402_replaced (intent_id);
      alter table x402_settlers drop column next_nonce;
      alter table x402_settlers drop column used_unix`,
  },
]
