import type { Migration } from '#store/engine.ts'
import { guardsSql } from '#store/guard.ts'
import { x402Guards } from './x402-guards.ts'

export const x402Migrations: readonly Migration[] = [
  {
    id: 1400,
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
        own_hash text,
        raw text,
        settler text,
        tx_nonce bigint,
        nonce_open bigint not null default 0,
        look_unix bigint,
        reserved_gwei bigint not null default 0,
        gas_day bigint not null default 0,
        credit_id text unique references credits (id),
        unique (chain_id, asset, payer, nonce)
      );
      create index x402_intents_open on x402_intents (created_unix, id)
        where status in ('reserved', 'submitted');
      create index x402_intents_abandoned on x402_intents (created_unix, id)
        where status = 'abandoned';
      create index x402_intents_by_tx on x402_intents (tx_hash) where tx_hash is not null;
      create index x402_intents_by_nonce on x402_intents (chain_id, settler, tx_nonce)
        where settler is not null;
      create index x402_intents_nonce_open on x402_intents (chain_id, settler, tx_nonce)
        where nonce_open = 1;
      create index x402_intents_to_look_at on x402_intents (look_unix, id)
        where look_unix is not null;
      create table x402_replaced (
        tx_hash text primary key,
        intent_id text not null references x402_intents (id)
      );
      create index x402_replaced_by_intent on x402_replaced (intent_id);
      create table x402_settlers (
        chain_id bigint not null,
        settler text not null,
        gas_day bigint not null,
        gas_gwei bigint not null,
        primary key (chain_id, settler)
      )`,
  },
  { id: 1402, name: 'guards of x402 payments', sql: guardsSql(x402Guards) },
  {
    id: 1403,
    name: 'payments settled by a facilitator',
    sql: `
      drop table x402_replaced;
      drop table x402_settlers;
      drop index x402_intents_by_nonce;
      drop index x402_intents_nonce_open;
      alter table x402_intents drop column own_hash;
      alter table x402_intents drop column raw;
      alter table x402_intents drop column settler;
      alter table x402_intents drop column tx_nonce;
      alter table x402_intents drop column nonce_open;
      alter table x402_intents drop column reserved_gwei;
      alter table x402_intents drop column gas_day;
      alter table x402_intents add column scheme text not null default 'exact';
      alter table x402_intents add column reason text;
      alter table x402_intents add column payee_own bigint not null default 1;
      alter table x402_intents add column served bigint not null default 0;
      alter table x402_intents add column reverted_unix bigint;
      update x402_intents set served = 1 where status = 'credited';
      create index x402_intents_reverted on x402_intents (payer, reverted_unix)
        where reverted_unix is not null;
      create table x402_gas (
        day bigint primary key,
        gwei bigint not null
      );
      create table x402_facilitator (
        id bigint primary key check (id = 1),
        wallet text,
        ready_until_ms bigint not null
      )`,
  },
]
