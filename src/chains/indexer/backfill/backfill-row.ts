import type { Position } from '#chains/chain/chain-event.ts'
import type { Connection, Tables } from '#store/engine.ts'
import { column, type Row, sql } from '#store/sql.ts'

export const backfillsTables: Tables = `
    create table backfills (
      chain_id bigint primary key,
      floor_number bigint not null,
      floor_unix bigint not null,
      number bigint not null,
      hash text not null,
      timestamp_unix bigint not null,
      folded_number bigint not null,
      folded_hash text not null,
      folded_unix bigint not null,
      datasets text
    )`

/**
 * Older history is incomplete. Stored are the newest days from `newestFrom` up to the position, and
 * blocks up to `read`. Datasets that build on all earlier facts are stored up to `folded` only.
 */
export interface Backfill {
  readonly newestFrom: { readonly number: number; readonly timestamp: number }
  readonly read: Position
  /** It never passes `read` below `newestFrom`. */
  readonly folded: Position
  /** Datasets re-indexed while the others follow the head; null for the whole chain. */
  readonly datasets: readonly string[] | null
}

export async function readBackfill(
  connection: Connection,
  chainId: number,
): Promise<Backfill | undefined> {
  const [row] = await connection.run(sql`
    select floor_number, floor_unix, number, hash, timestamp_unix,
      folded_number, folded_hash, folded_unix, datasets from backfills
    where chain_id = ${chainId}`)
  return row && toBackfill(row)
}

export async function readBackfills(
  connection: Connection,
): Promise<ReadonlyMap<number, Backfill>> {
  const found = await connection.run(sql`
    select chain_id, floor_number, floor_unix, number, hash, timestamp_unix,
      folded_number, folded_hash, folded_unix, datasets from backfills`)
  return new Map(found.map((row) => [column.integer(row, 'chain_id'), toBackfill(row)]))
}

function toBackfill(row: Row): Backfill {
  const datasets = column.textOrNull(row, 'datasets')
  return {
    datasets: datasets === null ? null : datasets.split(','),
    newestFrom: {
      number: column.integer(row, 'floor_number'),
      timestamp: column.integer(row, 'floor_unix'),
    },
    read: {
      number: column.integer(row, 'number'),
      hash: column.hex(row, 'hash'),
      timestamp: column.integer(row, 'timestamp_unix'),
    },
    folded: {
      number: column.integer(row, 'folded_number'),
      hash: column.hex(row, 'folded_hash'),
      timestamp: column.integer(row, 'folded_unix'),
    },
  }
}

export async function writeBackfill(
  connection: Connection,
  chainId: number,
  backfill: Backfill,
): Promise<void> {
  const { newestFrom, read, folded, datasets } = backfill
  await connection.run(sql`
    insert into backfills (chain_id, floor_number, floor_unix, number, hash, timestamp_unix,
      folded_number, folded_hash, folded_unix, datasets)
    values (${chainId}, ${newestFrom.number}, ${newestFrom.timestamp},
      ${read.number}, ${read.hash}, ${read.timestamp},
      ${folded.number}, ${folded.hash}, ${folded.timestamp}, ${datasets?.join(',') ?? null})
    on conflict (chain_id) do update set
      number = excluded.number, hash = excluded.hash, timestamp_unix = excluded.timestamp_unix,
      folded_number = excluded.folded_number, folded_hash = excluded.folded_hash,
      folded_unix = excluded.folded_unix`)
}

export async function endBackfill(connection: Connection, chainId: number): Promise<void> {
  await connection.run(sql`delete from backfills where chain_id = ${chainId}`)
}
