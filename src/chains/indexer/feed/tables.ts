import type { Tables } from '#store/engine.ts'

/**
 * `feed` has one row: changes from `pruned` to `last` are in `changes`. `detail` of a price is the price, of `finalized` the
 * block before, of `reset` the first block.
 */
export const feedTables: Tables = `
    create table feed (
      name text primary key,
      epoch text not null,
      last bigint not null,
      pruned bigint not null
    );
    create table changes (
      sequence bigint primary key,
      op text not null,
      dataset text not null,
      chain_id bigint not null,
      block_number bigint not null,
      place bigint not null,
      tx_hash text not null,
      timestamp_unix bigint not null,
      kind text not null,
      token text not null,
      account text,
      amount text not null,
      detail text,
      usd text,
      -- For readers of final events too.
      final bigint not null,
      written_unix bigint not null
    );
    create index changes_final on changes (sequence) where final = 1;
    create index changes_at on changes (dataset, chain_id, block_number, place, token)`
