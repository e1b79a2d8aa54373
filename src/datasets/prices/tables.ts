import type { Migration } from '#store/engine.ts'
import { CLUSTERED } from '#store/migrate.ts'

/**
 * `price_points`: the price of a token in its quote (or in dollars, from a feed) at the end of a
 * block that moved it, scaled by 10^18 (`finerPricesMigration` gives them 54 decimals). `price_days`: the last point of each UTC day.
 */
export const pricesMigration: Migration = {
  id: 20,
  name: 'prices',
  sql: `
    create table price_points (
      symbol text not null,
      chain_id bigint not null,
      block_number bigint not null,
      timestamp_unix bigint not null,
      price_e18 text not null,
      primary key (symbol, block_number)
    ) ${CLUSTERED};
    create index price_points_by_time on price_points (symbol, timestamp_unix, block_number);
    create index price_points_of_chain on price_points (chain_id, block_number);
    create table price_days (
      symbol text not null,
      day_unix bigint not null,
      block_number bigint not null,
      price_e18 text not null,
      primary key (symbol, day_unix)
    ) ${CLUSTERED}`,
}

/** Switches prices to 54 decimals and drops those with 18, so that they are read again. */
export const finerPricesMigration: Migration = {
  id: 71,
  name: 'prices of cheap tokens',
  sql: `
    delete from price_points;
    delete from price_days;
    alter table price_points rename column price_e18 to price;
    alter table price_days rename column price_e18 to price`,
}
