import type { Position } from '#chains/chain/chain-event.ts'
import { sql } from '#store/sql.ts'
import { endBackfill } from './backfill/backfill-row.ts'
import { noteForgotten } from './chain-notes.ts'
import type { AnyDataset } from './dataset.ts'
import { forgetPosition } from './positions.ts'
import { forgetStalls } from './stalled-chains.ts'
import type { Transaction } from './transaction.ts'
import { forgetUnknown } from './unknown-figures.ts'

export async function removeChain(
  change: Transaction,
  datasets: readonly AnyDataset[],
): Promise<void> {
  const { connection, chainId } = change
  await removeDatasets(change, datasets)
  await endBackfill(connection, chainId)
  await forgetPosition(connection, chainId)
  await forgetStalls(connection, chainId)
}

export async function removeDatasets(
  change: Transaction,
  datasets: readonly AnyDataset[],
): Promise<void> {
  const { connection, chainId } = change
  for (const dataset of datasets) {
    await (dataset.forget?.(change) ?? dataset.revert(change, BEFORE_ALL))
    await connection.run(sql`
      delete from anomalies where chain_id = ${chainId} and dataset = ${dataset.name}`)
    await forgetUnknown(connection, { chainId, dataset: dataset.name })
  }
  await change.unvalueMoved()
  await noteForgotten(connection, chainId)
}

const BEFORE_ALL: Position = { number: -1, hash: '0x', timestamp: -1 }
