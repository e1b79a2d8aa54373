import { toStoredText } from '#lib/stored-text.ts'
import type { Connection, Migration } from '#store/engine.ts'
import { column } from '#store/row.ts'
import { sql } from '#store/sql.ts'

/** Stores the datasets whose code stalls on a chain. Each is set apart until nothing else is read, then re-indexed alone. */
export const stalledDatasetsMigration: Migration = {
  id: 2095,
  name: 'datasets whose code stalls',
  sql: `
    create table stalled_datasets (
      chain_id bigint not null,
      dataset text not null,
      detail text not null,
      waits bigint not null,
      primary key (chain_id, dataset)
    )`,
}

export interface StalledDataset {
  readonly chainId: number
  readonly dataset: string
  /** Names the log and the module. */
  readonly detail: string
  /** Whether it is set apart; otherwise it is being re-indexed. */
  readonly waits: boolean
}

export async function readStalledDatasets(
  connection: Connection,
): Promise<readonly StalledDataset[]> {
  const found = await connection.run(sql`
    select chain_id, dataset, detail, waits from stalled_datasets order by chain_id, dataset`)
  return found.map((row) => ({
    chainId: column.integer(row, 'chain_id'),
    dataset: column.text(row, 'dataset'),
    detail: column.text(row, 'detail'),
    waits: column.flag(row, 'waits'),
  }))
}

export async function writeStalledDataset(
  connection: Connection,
  { chainId, dataset, detail, waits }: StalledDataset,
): Promise<void> {
  await connection.run(sql`
    insert into stalled_datasets (chain_id, dataset, detail, waits)
    values (${chainId}, ${dataset}, ${toStoredText(detail.slice(0, 500))}, ${Number(waits)})
    on conflict (chain_id, dataset) do update set detail = excluded.detail, waits = excluded.waits`)
}

/** Call it once the dataset is complete again, or its rows are removed. */
export async function forgetStalledDataset(
  connection: Connection,
  { chainId, dataset }: Pick<StalledDataset, 'chainId' | 'dataset'>,
): Promise<void> {
  await connection.run(sql`
    delete from stalled_datasets where chain_id = ${chainId} and dataset = ${dataset}`)
}
