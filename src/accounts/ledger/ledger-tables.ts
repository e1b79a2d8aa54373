import type { Tables } from '#store/engine.ts'
import { guardsSql } from '#store/guard.ts'
import { ledgerGuards } from './ledger-guards.ts'

export const ledgerTables: readonly Tables[] = [
  `
      create table balances (
        account text primary key,
        prepaid smallint not null check (prepaid in (0, 1)),
        micro_usd bigint not null,
        -- What the last debit granted: an upsert returns only what its row holds.
        granted_calls bigint not null default 0,
        check (prepaid = 0 or micro_usd >= 0)
      );
      create table journal_entries (
        id text primary key,
        kind text not null,
        reference text not null,
        created_unix bigint not null
      );
      -- An entry is written after its postings, so that it can be refused for them.
      create table postings (
        entry_id text not null references journal_entries (id) deferrable initially deferred,
        line bigint not null,
        account text not null,
        micro_usd bigint not null check (micro_usd <> 0),
        primary key (entry_id, line)
      );
      create index postings_by_account on postings (account, entry_id);
      create table spend_days (
        day bigint not null,
        account text not null,
        price_micro_usd bigint not null check (price_micro_usd > 0),
        calls bigint not null,
        micro_usd bigint not null check (micro_usd >= 0),
        primary key (day, account, price_micro_usd),
        check (micro_usd = calls * price_micro_usd)
      );
      create index spend_days_by_account on spend_days (account, day)`,
  'create table restores (restored_unix bigint)',
  guardsSql(ledgerGuards),
]
