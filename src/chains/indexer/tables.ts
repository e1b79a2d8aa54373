import { leadersMigration } from '#operations/jobs/leader.ts'
import type { Migration } from '#store/engine.ts'
import { notificationMigration } from '#store/notifications.ts'
import { backfillsMigration } from './backfill/backfill-row.ts'
import { matchedMappingsMigration } from './events/matched-mappings.ts'
import { eventsMigration } from './events/tables.ts'
import { feedMigration } from './feed/tables.ts'
import { forgottenChainsMigration } from './forgotten-chains.ts'
import { foundContractsMigration } from './found-contracts/table.ts'
import { indexedConfigMigration } from './indexed-config/tables.ts'
import { stalledChainsMigration } from './stalled-chains.ts'
import { unknownFiguresMigration } from './unknown-figures.ts'

/** Ids 2000 to 2099. */
export const indexerMigrations: readonly Migration[] = [
  leadersMigration(2000),
  {
    id: 2001,
    name: 'positions, blocks and anomalies',
    sql: `
      create table positions (
        chain_id bigint primary key,
        number bigint not null,
        hash text not null,
        timestamp_unix bigint not null,
        head_number bigint not null,
        safe_number bigint not null,
        finalized_number bigint not null
      );
      create table blocks (
        chain_id bigint not null,
        number bigint not null,
        hash text not null,
        parent_hash text not null,
        timestamp_unix bigint not null,
        primary key (chain_id, number)
      );
      create table anomalies (
        chain_id bigint not null,
        block_number bigint not null,
        place bigint not null,
        dataset text not null,
        block_hash text not null,
        tx_hash text not null,
        contract text not null,
        kind text not null,
        reason text not null,
        primary key (chain_id, block_number, place, dataset)
      );
      create index anomalies_newest on anomalies (kind, chain_id, block_number);
      create index anomalies_of_contract on anomalies (chain_id, dataset, contract)`,
  },
  eventsMigration,
  backfillsMigration,
  forgottenChainsMigration,
  indexedConfigMigration,
  stalledChainsMigration,
  matchedMappingsMigration,
  feedMigration,
  notificationMigration({
    id: 2085,
    name: 'notifications of blocks',
    channel: 'sexton_blocks',
    after: 'insert or update or delete on positions',
    each: 'statement',
    payload: "''",
  }),
  unknownFiguresMigration,
  foundContractsMigration,
]
