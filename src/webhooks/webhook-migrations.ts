import type { Migration } from '#store/engine.ts'

/** Ids 1500 to 1599 of the accounts store. */
export const webhooksMigrations: readonly Migration[] = [
  {
    id: 1500,
    name: 'webhooks',
    sql: `
      create table webhooks (
        id text primary key,
        public_id text not null,
        url text not null,
        description text,
        filter text not null,
        state text not null,
        reason text,
        challenge text not null,
        -- Where it is in the feed; null until it is active.
        epoch text,
        sequence bigint,
        last_place bigint not null default 0,
        -- Failed attempts in a row, and since when.
        attempts bigint not null default 0,
        failing_unix bigint,
        -- When to send next; null with nothing to send.
        due_ms bigint,
        delivered bigint not null default 0,
        answer text,
        answer_unix bigint,
        created_unix bigint not null
      );
      create index webhooks_by_key on webhooks (public_id, created_unix, id);
      create index webhooks_due on webhooks (due_ms, id) where due_ms is not null;
      create table webhook_events (
        id text primary key,
        webhook_id text not null references webhooks (id),
        place bigint not null,
        type text not null,
        payload text not null,
        -- waiting, owed (delivered and not paid for), dead
        state text not null,
        is_free smallint not null check (is_free in (0, 1)),
        queued_unix bigint not null,
        reason text,
        died_unix bigint,
        unique (webhook_id, place)
      );
      create index webhook_events_queued on webhook_events (webhook_id, place) where state <> 'dead';
      create index webhook_events_dead on webhook_events (webhook_id, place) where state = 'dead';
      create index webhook_events_old on webhook_events (died_unix) where state = 'dead'`,
  },
  {
    id: 1501,
    name: 'low balances that were told',
    sql: 'create table low_balances (public_id text primary key, is_told smallint not null)',
  },
  {
    id: 1502,
    name: 'webhooks with a cursor on the feed',
    // What was queued or given up is told by a reset: its cursor is one that no feed has.
    sql: `
      alter table webhooks add column wallet text not null default '';
      alter table webhooks add column cursor text;
      alter table webhooks add column final_unix bigint;
      alter table webhooks add column version bigint not null default 1;
      alter table webhooks add column rotated_unix bigint;
      alter table webhooks add column daily_cap bigint;
      alter table webhooks add column cap_day bigint not null default 0;
      alter table webhooks add column cap_calls bigint not null default 0;
      alter table webhooks add column low_unix bigint;
      alter table webhooks add column is_low_told smallint not null default 0;
      delete from webhook_events where webhook_id in (select id from webhooks where state = 'ended');
      delete from webhooks where state = 'ended';
      update webhooks set
        wallet = coalesce((select wallet from keys where keys.public_id = webhooks.public_id), ''),
        cursor = epoch || '.' || sequence;
      update webhooks set
        cursor = '000000000000.0',
        final_unix = (
          select min(queued_unix) - 86400 from webhook_events
          where webhook_id = webhooks.id and webhook_events.state <> 'owed')
      where exists (
        select 1 from webhook_events
        where webhook_id = webhooks.id and webhook_events.state <> 'owed');
      update webhooks set low_unix = created_unix, is_low_told = 1
      where public_id in (select public_id from low_balances where is_told = 1);
      update webhooks set state = 'unverified' where state = 'verifying';
      update webhooks set state = 'failing' where state = 'active' and attempts > 0;
      update webhooks set due_ms = coalesce(due_ms, 0) where state in ('active', 'failing');
      alter table webhooks drop column epoch;
      alter table webhooks drop column sequence;
      alter table webhooks drop column last_place;
      create index webhooks_by_wallet on webhooks (wallet);
      drop table webhook_events;
      drop table low_balances`,
  },
]
