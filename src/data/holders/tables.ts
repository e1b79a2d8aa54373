import type { Tables } from '#db/engine.ts'
import { CLUSTERED } from '#db/migrate.ts'

/**
 * `balances`: balances other than zero; `last_unix` is the UTC day of the last transfer of more than zero.
 *   Those below zero are not explained by transfers.
 * `holder_totals`: what is held on all chains, of tokens on several.
 * `balance_deltas`: movements of blocks that are not final, for reverts; `last_unix` is what the
 *   balance had before, null without one.
 * `balance_hours`: balances before the first movement of an hour, which is in `block_number`, for 35 days.
 * `holder_days`: UTC days at whose end a holder began or ceased to hold on a chain.
 * `holder_buckets`: holders gained and lost over all chains.
 */
export const HOLDERS = 'holders'

export const holdersTables: Tables = `
    create table balances (
      token text not null,
      address text not null,
      chain_id bigint not null,
      balance text not null,
      last_unix bigint not null,
      primary key (token, address, chain_id)
    ) ${CLUSTERED};
    create index balances_overdrawn on balances (token, chain_id, address) where balance < '1';
    create index balances_by_size on balances (token, chain_id, balance, address);
    create table holder_totals (
      token text not null,
      address text not null,
      balance text not null,
      primary key (token, address)
    ) ${CLUSTERED};
    create index holder_totals_by_size on holder_totals (token, balance, address);
    create table balance_deltas (
      chain_id bigint not null,
      block_number bigint not null,
      token text not null,
      address text not null,
      timestamp_unix bigint not null,
      received text not null,
      sent text not null,
      kept text not null,
      last_unix bigint,
      primary key (chain_id, block_number, token, address)
    ) ${CLUSTERED};
    create index balance_deltas_of_address on balance_deltas (token, address, chain_id, block_number);
    create table balance_hours (
      token text not null,
      address text not null,
      chain_id bigint not null,
      hour_unix bigint not null,
      block_number bigint not null,
      balance text not null,
      primary key (token, address, chain_id, hour_unix)
    ) ${CLUSTERED};
    create index balance_hours_by_time on balance_hours (chain_id, hour_unix);
    create table supply_buckets (
      token text not null,
      chain_id bigint not null,
      grain text not null,
      bucket_unix bigint not null,
      minted text not null,
      burned text not null,
      locked text not null,
      unlocked text not null,
      primary key (token, chain_id, grain, bucket_unix)
    ) ${CLUSTERED};
    create index supply_buckets_by_time on supply_buckets (token, grain, bucket_unix);
    create table holder_days (
      token text not null,
      address text not null,
      chain_id bigint not null,
      day_unix bigint not null,
      holds smallint not null,
      primary key (token, address, chain_id, day_unix)
    ) ${CLUSTERED};
    create table holder_buckets (
      token text not null,
      grain text not null,
      bucket_unix bigint not null,
      gained bigint not null,
      lost bigint not null,
      primary key (token, grain, bucket_unix)
    ) ${CLUSTERED}`
