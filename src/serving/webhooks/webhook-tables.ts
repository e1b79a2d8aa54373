import { type Check, DIFFERENCES_MAX, queryCheck } from '#accounts/ledger/check.ts'
import type { Tables } from '#store/engine.ts'
import { sql } from '#store/sql.ts'

export const webhookTables: Tables = `
      create table webhooks (
        id text primary key,
        public_id text not null,
        wallet text not null,
        url text not null,
        description text,
        filter text not null,
        daily_cap bigint,
        state text not null,
        reason text,
        secret text not null,
        -- Where it is in the feed, and the newest final time that it was sent.
        cursor text not null,
        final_unix bigint,
        -- Failed attempts in a row, and since when.
        attempts bigint not null default 0,
        failing_unix bigint,
        -- When to look next; null with nothing to send.
        due_ms bigint,
        delivered bigint not null default 0,
        answer text,
        answer_unix bigint,
        cap_day bigint not null default 0,
        cap_calls bigint not null default 0,
        created_unix bigint not null
      );
      create index webhooks_by_key on webhooks (public_id, created_unix, id);
      create index webhooks_by_wallet on webhooks (wallet);
      create index webhooks_due on webhooks (due_ms, id) where due_ms is not null`

export const webhooksChecks: readonly Check[] = [
  queryCheck(
    'a webhook that gets events knows when to look',
    sql`select id as subject, 'a due time' as expected, 'none' as found from webhooks
      where state in ('active', 'unfunded', 'failing') and due_ms is null
      order by id limit ${DIFFERENCES_MAX}`,
  ),
]
