import type { Migration } from '#store/engine.ts'

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
]
