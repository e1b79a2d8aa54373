import type { Migration } from '#store/engine.ts'
import { guardsSql } from '#store/guard.ts'
import { accrualGuards, ledgerGuards, priceGuards } from './ledger-guards.ts'

const APPEND_ONLY = ['journal_entries', 'postings']

/** An entry is written after its postings, so that it can be refused for them. */
const SQLITE_SEAL = `
  create table sealed_postings (
    entry_id text not null references journal_entries (id) deferrable initially deferred,
    line bigint not null,
    account text not null,
    micro_usd bigint not null check (micro_usd <> 0),
    primary key (entry_id, line)
  );
  insert into sealed_postings (entry_id, line, account, micro_usd)
    select entry_id, line, account, micro_usd from postings;
  drop table postings;
  alter table sealed_postings rename to postings;
  create index postings_by_account on postings (account, entry_id);
  drop trigger journal_entries_refuse_update;
  drop trigger journal_entries_refuse_delete;
  ${guardsSql(ledgerGuards).sqlite}`

const POSTGRES_SEAL = `
  alter table postings
    alter constraint postings_entry_id_fkey deferrable initially deferred;
  drop trigger journal_entries_append_only on journal_entries;
  drop trigger postings_append_only on postings;
  drop function refuse_change();
  ${guardsSql(ledgerGuards).postgres}`

const ACCRUAL = `
  alter table balances add column accruing_day bigint not null default 0;
  alter table balances add column accruing_price_micro_usd bigint not null default 0;
  alter table balances add column accruing_calls bigint not null default 0
    check (accruing_calls = 0 or (accruing_calls > 0 and accruing_day > 0 and accruing_price_micro_usd > 0));
  alter table spend_days add column is_accruing smallint not null default 0
    check (is_accruing in (0, 1));
  create index spend_days_accruing on spend_days (day, account) where is_accruing = 1;`

/** The triggers add what accrued to the rows of its days. */
const BOOKING = `
  update balances set accruing_day = 0, accruing_price_micro_usd = 0, accruing_calls = 0
    where accruing_day <> 0;`

const NO_ACCRUAL = `
  drop index spend_days_accruing;
  alter table spend_days drop column is_accruing;
  alter table balances drop column accruing_calls;
  alter table balances drop column accruing_price_micro_usd;
  alter table balances drop column accruing_day;`

/** Tables of the ledger; ids 100 to 199 of the accounts store. */
export const ledgerMigrations: readonly Migration[] = [
  {
    id: 100,
    name: 'ledger',
    sql: `
      create table balances (
        account text primary key,
        prepaid smallint not null check (prepaid in (0, 1)),
        micro_usd bigint not null,
        granted_calls bigint not null default 0,
        check (prepaid = 0 or micro_usd >= 0)
      );
      create table journal_entries (
        id text primary key,
        kind text not null,
        reference text not null,
        created_unix bigint not null
      );
      create table postings (
        entry_id text not null references journal_entries (id),
        line bigint not null,
        account text not null,
        micro_usd bigint not null check (micro_usd <> 0),
        primary key (entry_id, line)
      );
      create index postings_by_account on postings (account, entry_id);
      create table spend_days (
        account text not null,
        day bigint not null,
        calls bigint not null check (calls >= 0),
        micro_usd bigint not null check (micro_usd >= 0),
        posted_micro_usd bigint not null default 0,
        closings bigint not null default 0,
        primary key (account, day)
      );
      create index spend_days_open on spend_days (day, account)
        where micro_usd <> posted_micro_usd`,
  },
  {
    id: 101,
    name: 'append-only journal',
    sql: { sqlite: APPEND_ONLY.map(sqliteGuards).join('\n'), postgres: postgresGuards() },
  },
  {
    id: 102,
    name: 'spend by price',
    sql: `
      create table spend_days_by_price (
        account text not null,
        day bigint not null,
        price_micro_usd bigint not null check (price_micro_usd >= 0),
        calls bigint not null,
        returned bigint not null default 0 check (returned >= 0 and returned <= calls),
        micro_usd bigint not null check (micro_usd >= 0),
        posted_micro_usd bigint not null default 0,
        closings bigint not null default 0,
        primary key (account, day, price_micro_usd),
        check (price_micro_usd = 0 or micro_usd = (calls - returned) * price_micro_usd)
      );
      insert into spend_days_by_price
        (account, day, price_micro_usd, calls, micro_usd, posted_micro_usd, closings)
      select account, day,
        case when calls > 0 and micro_usd = calls * (micro_usd / calls) then micro_usd / calls
          else 0 end,
        calls, micro_usd, posted_micro_usd, closings
      from spend_days;
      drop table spend_days;
      alter table spend_days_by_price rename to spend_days;
      create index spend_days_open on spend_days (day, account)
        where micro_usd <> posted_micro_usd`,
  },
  {
    id: 103,
    name: 'entries are sealed when they sum to zero',
    sql: { sqlite: SQLITE_SEAL, postgres: POSTGRES_SEAL },
  },
  { id: 104, name: 'no spend without a price', sql: guardsSql(priceGuards) },
  {
    id: 105,
    name: 'open days are listed once',
    sql: `
      drop index spend_days_open;
      create index spend_days_open on spend_days (day, account) where closings = 0;
      create index spend_days_reopened on spend_days (day, account)
        where closings > 0 and micro_usd <> posted_micro_usd`,
  },
  {
    id: 106,
    name: 'paid calls accrue beside the balance',
    sql: {
      sqlite: `${ACCRUAL} ${guardsSql(accrualGuards).sqlite}`,
      postgres: `${ACCRUAL} ${guardsSql(accrualGuards).postgres}`,
    },
  },
  {
    id: 107,
    name: 'paid calls are added to their day at once',
    sql: {
      sqlite: `${BOOKING}
        drop trigger accrued_calls_come_to_their_day;
        drop trigger accruing_calls_only_grow;
        ${NO_ACCRUAL}`,
      postgres: `${BOOKING}
        drop trigger accrued_calls_come_to_their_day on balances;
        drop trigger accruing_calls_only_grow on balances;
        drop function accrued_calls_come_to_their_day_row();
        ${NO_ACCRUAL}`,
    },
  },
]

function sqliteGuards(table: string): string {
  return ['update', 'delete']
    .map(
      (action) => `create trigger ${table}_refuse_${action} before ${action} on ${table}
        begin select raise(abort, '${table} is append-only'); end;`,
    )
    .join('\n')
}

/** The class of the error code (23) makes it a broken constraint, as on SQLite. */
function postgresGuards(): string {
  const guards = APPEND_ONLY.map(
    (table) => `create trigger ${table}_append_only before update or delete or truncate on ${table}
      for each statement execute function refuse_change();`,
  )
  return `create function refuse_change() returns trigger language plpgsql as $$
    begin
      raise exception '% is append-only', tg_table_name using errcode = 'restrict_violation';
    end $$;
    ${guards.join('\n')}`
}
