import type { Migration } from '#store/engine.ts'
import { type Guard, guardsSql } from '#store/guard.ts'

/** What the database itself refuses to do to keys, signed messages and counters. */
export const accessGuards: readonly Guard[] = [
  { table: 'keys', name: 'keys_stay', on: 'delete' },
  {
    table: 'keys',
    name: 'keys_keep_who_they_are',
    on: 'update',
    columns: ['public_id', 'secret_digest', 'wallet', 'created_unix', 'is_first'],
    when: `new.public_id <> old.public_id or new.secret_digest <> old.secret_digest
      or new.wallet <> old.wallet or new.created_unix <> old.created_unix
      or new.is_first <> old.is_first`,
  },
  {
    table: 'keys',
    name: 'keys_stay_revoked',
    on: 'update',
    columns: ['revoked_unix'],
    when: 'old.revoked_unix is not null',
  },
  { table: 'used_messages', name: 'used_messages_never_change', on: 'update' },
  { table: 'used_messages', name: 'used_messages_stay', on: 'delete' },
  {
    table: 'usage_days',
    name: 'usage_days_pay_after_the_quota',
    on: 'update',
    columns: ['paid'],
    when: 'new.paid > old.paid and old.used < old.quota',
  },
]

/** Free calls go down only as far as they are said to be given back. */
export const returnGuards: readonly Guard[] = [
  {
    table: 'usage_days',
    name: 'usage_days_go_down_by_refunds',
    on: 'update',
    columns: ['used', 'returned'],
    when: `new.used + new.returned < old.used + old.returned or new.returned < old.returned`,
  },
]

/** Tables of keys and usage; ids 200 to 299 of the accounts store. */
export const accessMigrations: readonly Migration[] = [
  {
    id: 200,
    name: 'usage',
    sql: `
      create table usage_days (
        bucket text not null,
        day bigint not null,
        used bigint not null check (used >= 0),
        paid bigint not null check (paid >= 0),
        granted bigint not null,
        quota bigint not null,
        primary key (bucket, day)
      );
      create index usage_days_by_day on usage_days (day);
      create table meters (
        meter text primary key,
        batch bigint not null,
        day bigint not null
      );
      create table refunds (
        receipt text primary key,
        day bigint not null
      );
      create index refunds_by_day on refunds (day)`,
  },
  {
    id: 201,
    name: 'keys',
    sql: `
      create table wallets (
        wallet text primary key,
        active_keys bigint not null check (active_keys >= 0),
        premium smallint,
        premium_unix bigint
      );
      create table keys (
        public_id text primary key,
        secret_digest text not null unique,
        wallet text not null references wallets (wallet),
        label text,
        created_unix bigint not null,
        revoked_unix bigint,
        successor text references keys (public_id)
      );
      create index keys_by_wallet on keys (wallet, created_unix, public_id);
      create table used_messages (
        digest text primary key,
        wallet text not null,
        action text not null,
        used_unix bigint not null
      )`,
  },
  {
    id: 202,
    name: 'calls by key',
    sql: `
      create table key_days (
        public_id text not null,
        day bigint not null,
        used bigint not null check (used >= 0),
        primary key (public_id, day)
      );
      create index key_days_by_day on key_days (day);
      alter table keys add column is_first smallint not null default 0;
      update keys set is_first = 1 where not exists (
        select 1 from keys as older where older.wallet = keys.wallet
          and (older.created_unix < keys.created_unix
            or (older.created_unix = keys.created_unix and older.public_id < keys.public_id)));
      create unique index keys_first on keys (wallet) where is_first = 1;
      insert into key_days (public_id, day, used)
      select bucket, day, used from usage_days
      where used > 0 and 1 < (
        select count(*) from keys where 'wallet:' || keys.wallet = usage_days.bucket)`,
  },
  {
    id: 203,
    name: 'the most that a quota was on a day',
    sql: `
      alter table usage_days add column quota_most bigint check (used <= quota_most);
      update usage_days set quota_most = case when used > quota then used else quota end`,
  },
  { id: 204, name: 'guards of keys and counters', sql: guardsSql(accessGuards) },
  {
    id: 205,
    name: 'what is to be told of a batch',
    sql: 'alter table meters add column detail text',
  },
  {
    id: 206,
    name: 'free calls that were given back',
    sql: onEach(
      'alter table usage_days add column returned bigint not null default 0;',
      guardsSql(returnGuards),
    ),
  },
  {
    id: 207,
    name: 'old counters in order, and the keys before a key',
    sql: `
      drop index usage_days_by_day;
      create index usage_days_by_day on usage_days (day, bucket);
      drop index key_days_by_day;
      create index key_days_by_day on key_days (day, public_id);
      drop index refunds_by_day;
      create index refunds_by_day on refunds (day, receipt);
      create index keys_by_successor on keys (successor) where successor is not null`,
  },
  {
    id: 210,
    name: 'old batches in order',
    sql: 'create index meters_by_day on meters (day, meter)',
  },
]

function onEach(first: string, then: { readonly sqlite: string; readonly postgres: string }) {
  return { sqlite: `${first}\n${then.sqlite}`, postgres: `${first}\n${then.postgres}` }
}
