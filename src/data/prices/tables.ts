import type { Tables } from '#db/engine.ts'
import { CLUSTERED } from '#db/migrate.ts'

/**
 * `price_points`: in the quote (or dollars) at the end of a block, with 54 decimals, null where
 * nothing can be traded; `liquidity` is what the pool holds, in base units of the quote; `emitter` the aggregator of a feed.
 * `price_hours`: the highest and lowest price of each hour, a space and the liquidity there, for 91 days.
 */
export const pricesTables: Tables = `
    create table price_points (
      symbol text not null,
      chain_id bigint not null,
      block_number bigint not null,
      timestamp_unix bigint not null,
      price text,
      liquidity text,
      emitter text,
      primary key (symbol, chain_id, block_number)
    ) ${CLUSTERED};
    create index price_points_by_time on price_points (symbol, timestamp_unix, block_number);
    create index price_points_of_chain on price_points (chain_id, block_number);
    create table price_hours (
      symbol text not null,
      hour_unix bigint not null,
      high text,
      low text,
      primary key (symbol, hour_unix)
    ) ${CLUSTERED}`
