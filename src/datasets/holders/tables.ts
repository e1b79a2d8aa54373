import type { Migration } from '#store/engine.ts'
import { CLUSTERED } from '#store/migrate.ts'

/**
 * `balances`: every positive balance. `balance_deltas`: what each block that is not yet final moved,
 * the zero address included, so that it can be taken back. `supply_buckets`: minted, sent to zero,
 * and moved in and out of addresses that do not circulate. `holder_days`: the UTC days at whose end
 * an address began or ceased to hold on a chain. `holder_buckets`: wallets that became or ceased to
 * be holders, over all chains.
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
