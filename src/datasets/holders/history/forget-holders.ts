import type { Change } from '#indexer/dataset.ts'
import { sql } from '#store/sql.ts'
import { countHoldersAnew } from './count-holders-anew.ts'
import type { HistoryToken } from './holders-history.ts'

/** Removes what is known of a chain's holders, and counts those of the other chains alone. */
export async function forgetHolders(
  change: Change,
  tokens: readonly HistoryToken[],
): Promise<void> {
  const { connection, chainId } = change
  await connection.run(sql`delete from balances where chain_id = ${chainId}`)
  await connection.run(sql`delete from balance_deltas where chain_id = ${chainId}`)
  await connection.run(sql`delete from supply_buckets where chain_id = ${chainId}`)
  await connection.run(sql`delete from holder_spans where chain_id = ${chainId}`)
  for (const token of tokens) await countHoldersAnew(change, token)
}
