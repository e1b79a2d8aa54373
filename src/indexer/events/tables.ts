import type { Migration } from '#store/engine.ts'
import { CLUSTERED } from '#store/migrate.ts'

/**
 * Tables of everything that happens once and has an amount: burns, dividends, grave digs.
 * Amounts are uint256 in base units; `usd` are micro-dollars at the time of the event. Both are
 * padded text, since they can pass 64 bits. `priced` counts the events that have a dollar value.
 */
export const eventsMigration: Migration = {
  id: 3,
  name: 'events',
  sql: `
    create table events (
      dataset text not null,
      chain_id bigint not null,
      block_number bigint not null,
      log_index bigint not null,
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
      primary key (dataset, chain_id, block_number, log_index)
    );
    create index events_newest on events (dataset, timestamp_unix, chain_id, block_number, log_index);
    create index events_of_chain on events (dataset, chain_id, timestamp_unix, block_number, log_index);
    create index events_of_account on events (dataset, account, timestamp_unix, chain_id, block_number, log_index);
    create index events_of_token on events (token, timestamp_unix);
    create index events_of_token_and_chain on events (dataset, token, chain_id, timestamp_unix);
    create index events_to_value on events (token, timestamp_unix) where valued = 0;
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
    create table event_accounts (
      dataset text not null,
      token text not null,
      account text not null,
      amount text not null,
      usd text not null,
      events bigint not null,
      priced bigint not null,
      first_unix bigint not null,
      last_unix bigint not null,
      primary key (dataset, token, account)
    ) ${CLUSTERED};
    create index event_accounts_ranked on event_accounts (dataset, token, amount desc, last_unix, account);
    create index event_accounts_by_account on event_accounts (dataset, account);
    create table event_account_counts (
      dataset text primary key,
      accounts bigint not null
    )`,
}

/** Nobody asks what one account burned: such rows would be nearly half of them. */
export const lessByAccountMigration: Migration = {
  id: 62,
  name: 'burns are not summed by account',
  sql: `
    delete from event_accounts where dataset = 'burns';
    delete from event_account_counts where dataset = 'burns';
    drop index event_accounts_by_account`,
}

/**
 * What an account did of all tokens is added up where it is read: such rows would be half of them. The table
 * has another name, since a version that looks for them would find nothing and must fail.
 */
export const sumsByTokenMigration: Migration = {
  id: 66,
  name: 'accounts have sums by token only',
  sql: `
    alter table event_accounts rename to event_account_sums;
    delete from event_account_sums where token = ''`,
}

/** Lists of a token are read in their order, however few of a dataset's events it has. */
export const listsOfTokensMigration: Migration = {
  id: 68,
  name: 'events of a token are in the order of lists',
  sql: `
    drop index events_of_token_and_chain;
    create index events_of_token_and_chain on events
      (dataset, token, chain_id, timestamp_unix, block_number, log_index)`,
}

/** An account may have most events of a dataset but only few of a given token or chain. */
export const listsOfAccountsMigration: Migration = {
  id: 81,
  name: 'events of an account are in the order of lists of a token and of a chain',
  sql: `
    create index events_of_account_and_token on events
      (dataset, account, token, timestamp_unix, chain_id, block_number, log_index)
      where account is not null;
    create index events_of_account_and_chain on events
      (dataset, account, chain_id, timestamp_unix, block_number, log_index)
      where account is not null`,
}
