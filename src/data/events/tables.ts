import type { Tables } from '#db/engine.ts'
import { CLUSTERED } from '#db/migrate.ts'

/**
 * `amount` in base units, `usd` in micro-dollars at the event's time. Padded text, since both may
 * exceed 64 bits.
 */
export const eventsTables: Tables = `
    create table events (
      dataset text not null,
      chain_id bigint not null,
      block_number bigint not null,
      place bigint not null,
      block_hash text not null,
      tx_hash text not null,
      timestamp_unix bigint not null,
      kind text not null,
      token text not null,
      account text,
      amount text not null,
      detail text,
      counted integer not null,
      valued integer not null,
      usd text,
      primary key (dataset, chain_id, block_number, place)
    );
    create index events_newest on events (dataset, timestamp_unix, chain_id, block_number, place);
    create index events_of_chain on events (dataset, chain_id, timestamp_unix, block_number, place);
    create index events_of_account on events (dataset, account, timestamp_unix, chain_id, block_number, place);
    create index events_of_account_and_token on events
      (dataset, account, token, timestamp_unix, chain_id, block_number, place)
      where account is not null;
    create index events_of_account_and_chain on events
      (dataset, account, chain_id, timestamp_unix, block_number, place)
      where account is not null;
    create index events_of_token on events (token, timestamp_unix);
    create index events_of_token_and_chain on events
      (dataset, token, chain_id, timestamp_unix, block_number, place);
    create index events_of_transaction on events (tx_hash);
    create index events_to_value on events (token, chain_id, timestamp_unix) where valued = 0;
    create table event_buckets (
      dataset text not null,
      token text not null,
      chain_id bigint not null,
      grain text not null,
      bucket_unix bigint not null,
      amount text not null,
      usd text not null,
      events bigint not null,
      priced bigint not null,
      primary key (dataset, token, chain_id, grain, bucket_unix)
    ) ${CLUSTERED};
    create index event_buckets_by_time on event_buckets (dataset, grain, bucket_unix);
    create table event_account_sums (
      dataset text not null,
      account text not null,
      token text not null,
      amount text not null,
      usd text not null,
      events bigint not null,
      priced bigint not null,
      first_unix bigint,
      last_unix bigint,
      primary key (dataset, account, token)
    ) ${CLUSTERED};
    create table event_account_counts (
      dataset text primary key,
      accounts bigint not null
    )`
