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
]
