import type { Change } from '#indexer/dataset.ts'
import { column } from '#store/row.ts'
import { sql } from '#store/sql.ts'
import { voidProof } from '../proof/proof-row.ts'
import { countHoldersAnew } from './count-holders-anew.ts'

/** Removes what is known of a chain's holders, and counts those of the other chains alone. */
export async function forgetHolders({ connection, chainId }: Change): Promise<void> {
  // Also tokens that the file no longer has.
  const found = await connection.run(sql`
    select distinct token from supply_buckets where chain_id = ${chainId} and grain = 'total'`)
  await connection.run(sql`delete from balances where chain_id = ${chainId}`)
  await connection.run(sql`delete from balance_deltas where chain_id = ${chainId}`)
  await connection.run(sql`delete from supply_buckets where chain_id = ${chainId}`)
  await connection.run(sql`delete from holder_spans where chain_id = ${chainId}`)
  await voidProof(connection, chainId)
  for (const row of found)
    await countHoldersAnew(connection, {
      symbol: column.text(row, 'token'),
      isOnSeveralChains: true,
    })
}
