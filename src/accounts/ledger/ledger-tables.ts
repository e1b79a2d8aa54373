import type { Tables } from '#db/engine.ts'
import { appendOnly, type Guard, guardsSql } from '#db/guard.ts'

export const ledgerGuards: readonly Guard[] = [
  ...appendOnly('journal_entries', 'entries'),
  {
    table: 'journal_entries',
    name: 'entries_are_posted_once',
    on: 'insert',
    when: 'exists (select 1 from journal_entries where id = new.id)',
    quietly: true,
  },
  {
    table: 'journal_entries',
    name: 'entries_sum_to_zero',
    on: 'insert',
    when: `(select coalesce(sum(micro_usd), 1) from postings where entry_id = new.id) <> 0
      or (select count(*) from postings where entry_id = new.id) < 2`,
  },
  ...appendOnly('postings'),
  {
    table: 'postings',
    name: 'postings_come_with_their_entry',
    on: 'insert',
    when: 'exists (select 1 from journal_entries where id = new.entry_id)',
    quietly: true,
  },
  { table: 'restores', name: 'restores_stay', on: 'delete' },
  {
    table: 'restores',
    name: 'restores_keep_their_time',
    on: 'update',
    when: 'old.restored_unix is not null',
  },
  { table: 'balances', name: 'balances_stay', on: 'delete' },
  {
    table: 'balances',
    name: 'balances_keep_their_account',
    on: 'update',
    columns: 'account',
    when: 'new.account <> old.account',
  },
  { table: 'spend_days', name: 'spend_days_stay', on: 'delete' },
  {
    table: 'spend_days',
    name: 'spend_days_only_grow',
    on: 'update',
    when: `new.account <> old.account or new.day <> old.day
      or new.price_micro_usd <> old.price_micro_usd or new.calls < old.calls`,
  },
]

export const ledgerTables: readonly Tables[] = [
  `
      create table balances (
        account text primary key,
        -- Exact as a number in JavaScript.
        micro_usd bigint not null
          check (micro_usd between -9007199254740991 and 9007199254740991),
        -- What the last debit granted: an upsert returns only what its row holds.
        granted_calls bigint not null default 0,
        check (micro_usd >= 0 or account like 'chain_in:%' or account like 'receivable:%')
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
