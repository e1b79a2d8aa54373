import type { Migration } from '#store/engine.ts'
import { CLUSTERED } from '#store/migrate.ts'

/**
 * `balances`: every positive balance. `balance_deltas`: what each block that is not yet final moved,
 * the zero address included, so that it can be taken back. `supply_buckets`: minted, sent to zero,
 * and moved in and out of addresses that do not circulate. `holder_days`: the UTC days at whose end
 * an address began or ceased to hold on a chain, which `holderSpansMigration` keeps in fewer rows.
 * `holder_buckets`: wallets that became or ceased to be holders, over all chains.
 */
export const holdersMigration: Migration = {
  id: 10,
  name: 'holders',
  sql: `
    create table balances (
      token text not null,
      address text not null,
      chain_id bigint not null,
      balance text not null,
      primary key (token, address, chain_id)
    ) ${CLUSTERED};
    create table balance_deltas (
      chain_id bigint not null,
      block_number bigint not null,
      token text not null,
      address text not null,
      timestamp_unix bigint not null,
      received text not null,
      sent text not null,
      primary key (chain_id, block_number, token, address)
    ) ${CLUSTERED};
    create index balance_deltas_of_address on balance_deltas (token, address, chain_id, block_number);
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
    create table holder_days (
      token text not null,
      address text not null,
      chain_id bigint not null,
      day_unix bigint not null,
      holds integer not null,
      primary key (token, address, chain_id, day_unix)
    ) ${CLUSTERED};
    create table holder_buckets (
      token text not null,
      grain text not null,
      bucket_unix bigint not null,
      gained bigint not null,
      lost bigint not null,
      primary key (token, grain, bucket_unix)
    ) ${CLUSTERED}`,
}

export const HOLDER_SPANS_KEY = {
  token: 'text',
  address: 'text',
  chain_id: 'bigint',
  from_unix: 'bigint',
} as const

/**
 * Most holders never left: the day at whose end they began to hold stands beside the balance (null for
 * an address that is no holder), and only a time that ended is a row of its own. `holder_turns` shows
 * the turning days out of both, and not by the table's name: a version that writes into that must fail.
 */
export const holderSpansMigration: Migration = {
  id: 63,
  name: 'holders have rows of their own for ended times only',
  sql: `
    alter table balances add column since_unix bigint;
    update balances set since_unix = (
      select case when max(days.day_unix * 2 + days.holds) % 2 = 1 then max(days.day_unix) end
      from holder_days days
      where days.token = balances.token and days.address = balances.address
        and days.chain_id = balances.chain_id);
    create table holder_spans (
      token text not null,
      address text not null,
      chain_id bigint not null,
      from_unix bigint not null,
      until_unix bigint not null,
      primary key (token, address, chain_id, from_unix)
    ) ${CLUSTERED};
    insert into holder_spans (token, address, chain_id, from_unix, until_unix)
    select token, address, chain_id, from_unix, day_unix
    from (
      select token, address, chain_id, day_unix, holds, lag(day_unix) over (
        partition by token, address, chain_id order by day_unix) as from_unix
      from holder_days) days
    where holds = 0;
    drop table holder_days;
    create view holder_turns as
    select token, address, chain_id, since_unix as day_unix, 1 as holds
    from balances where since_unix is not null
    union all select token, address, chain_id, from_unix, 1 from holder_spans
    union all select token, address, chain_id, until_unix, 0 from holder_spans`,
}

/** The supply of a token is read without its days of the past. */
export const supplyByTimeMigration: Migration = {
  id: 69,
  name: 'supply by time',
  sql: 'create index supply_buckets_by_time on supply_buckets (token, grain, bucket_unix)',
}
