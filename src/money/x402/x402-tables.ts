import type { Tables } from '#store/engine.ts'
import { type Guard, guardsSql } from '#store/guard.ts'

export const x402Guards: readonly Guard[] = [
  // Only payments that moved nothing may be deleted.
  {
    table: 'x402_intents',
    name: 'x402_intents_stay',
    on: 'delete',
    when: "old.status <> 'failed' or old.tx_hash is not null or old.due_unix is not null",
  },
  {
    table: 'x402_intents',
    name: 'x402_intents_keep_what_was_signed',
    on: 'update',
    columns: [
      'id',
      'chain_id',
      'asset',
      'payer',
      'nonce',
      'pay_to',
      'micro_usd',
      'payee_kind',
      'payee',
      'payee_wallet',
      'created_unix',
    ],
  },
  {
    table: 'x402_intents',
    name: 'x402_intents_send_nothing_once_failed',
    on: 'update',
    columns: ['status'],
    when: "old.status = 'failed' and new.status = 'open'",
  },
]

export const x402Tables: readonly Tables[] = [
  `
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
      scheme text not null default 'exact',
      payee_kind text not null check (payee_kind in ('key', 'bucket')),
      payee text not null,
      payee_wallet text,
      payee_own bigint not null default 1,
      status text not null check (status in ('open', 'credited', 'failed')),
      reason text,
      created_unix bigint not null,
      from_block bigint not null,
      tx_hash text,
      -- When the job looks at it next; null once nothing can become of it any more.
      due_unix bigint,
      served bigint not null default 0,
      credit_id text unique references credits (id),
      unique (chain_id, asset, payer, nonce)
    );
    create index x402_intents_open on x402_intents (created_unix, id) where status = 'open';
    create index x402_intents_failed on x402_intents (created_unix, id) where status = 'failed';
    create index x402_intents_due on x402_intents (due_unix, id) where due_unix is not null;
    create index x402_intents_reverted on x402_intents (payer, created_unix)
      where reason = 'reverted';
    create table x402_facilitator (
      id bigint primary key check (id = 1),
      -- The most that transactions of the newest day may have cost.
      gas_day bigint not null default 0,
      gas_gwei bigint not null default 0
    )`,
  guardsSql(x402Guards),
]
