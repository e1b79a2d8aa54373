import type { Tables } from '#db/engine.ts'
import { appendOnly, type Guard, guardsSql } from '#db/guard.ts'
import { notificationTrigger } from '#db/migrate.ts'

export const callerGuards: readonly Guard[] = [
  { table: 'keys', name: 'keys_stay', on: 'delete' },
  {
    table: 'keys',
    name: 'keys_keep_who_they_are',
    on: 'update',
    columns: 'public_id, secret_digest, wallet, created_unix',
    when: `new.public_id <> old.public_id or new.secret_digest <> old.secret_digest
      or new.wallet <> old.wallet or new.created_unix <> old.created_unix`,
  },
  {
    table: 'keys',
    name: 'keys_stay_revoked',
    on: 'update',
    columns: 'revoked_unix',
    when: 'old.revoked_unix is not null',
  },
  ...appendOnly('used_messages'),
  {
    table: 'usage_days',
    name: 'usage_days_pay_after_the_quota',
    on: 'update',
    columns: 'paid',
    when: 'new.paid > old.paid and old.used < old.quota',
  },
  {
    table: 'usage_days',
    name: 'usage_days_only_grow',
    on: 'update',
    columns: 'used, paid',
    when: 'new.used < old.used or new.paid < old.paid',
  },
]

export const callerTables: readonly Tables[] = [
  `
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
        successor text references keys (public_id) deferrable initially deferred,
        limits text
      );
      create index keys_by_wallet on keys (wallet, created_unix, public_id);
      create index keys_by_successor on keys (successor) where successor is not null;
      create table used_messages (
        digest text primary key,
        wallet text not null,
        action text not null,
        used_unix bigint not null
      )`,
  `
      create table usage_days (
        day bigint not null,
        bucket text not null,
        used bigint not null check (used >= 0),
        paid bigint not null check (paid >= 0),
        -- What the last batch granted: an upsert returns only what its row holds.
        granted bigint not null,
        quota bigint not null,
        quota_most bigint not null check (used <= quota_most),
        primary key (day, bucket)
      );
      create index usage_days_by_bucket on usage_days (bucket, day);
      create table key_days (
        day bigint not null,
        public_id text not null,
        used bigint not null check (used >= 0),
        primary key (day, public_id)
      );
      create index key_days_by_key on key_days (public_id, day)`,
  guardsSql(callerGuards),
  notificationTrigger({
    channel: 'sexton_keys',
    after: 'update of revoked_unix, limits on keys',
    each: 'row',
    payload: 'new.secret_digest',
  }),
]
