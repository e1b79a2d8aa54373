import type { Tables } from '#db/engine.ts'
import { notificationTrigger } from '#db/migrate.ts'
import { leaderTables } from '#index/leader.ts'
import { chainNotesTables, unknownFiguresTables } from '#index/status.ts'
import { feedTables } from './feed.ts'
import { foundContractsTables } from './found-contracts.ts'

export const indexerTables: readonly Tables[] = [
  leaderTables,
  `
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
  chainNotesTables,
  feedTables,
  notificationTrigger({
    channel: 'sexton_blocks',
    after: 'insert or update or delete on positions',
    each: 'statement',
    payload: "''",
  }),
  unknownFiguresTables,
  foundContractsTables,
]
