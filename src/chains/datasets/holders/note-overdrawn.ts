import type { Change } from '#chains/indexer/dataset.ts'
import { noteOverdrawn } from '#chains/indexer/status.ts'
import { type Address, showAddress } from '#domain/address.ts'
import { column, sql } from '#store/sql.ts'
import { HOLDERS } from '../dataset-names.ts'

/**
 * Supply and holders of a token are unknown while somebody's stored balance is below zero, however
 * the blocks before were read.
 */
export async function noteOverdrawnTokens(
  { connection, chainId }: Pick<Change, 'connection' | 'chainId'>,
  tokens: readonly { readonly symbol: string; readonly address: Address }[],
): Promise<void> {
  const found = await connection.run(sql`
    select token, min(address) as address from balances
    where chain_id = ${chainId} and balance < '1' group by token`)
  const figures = tokens.flatMap(({ symbol, address: contract }) => {
    const row = found.find(({ token }) => token === symbol)
    if (row === undefined) return []
    const detail = `${showAddress(column.hex(row, 'address'))} sent more ${symbol} than it ever received: the chain's startBlock is later than the token's first transfer, the token moves balances without Transfer events, or an endpoint dropped old logs`
    return [{ contract, detail }]
  })
  await noteOverdrawn(connection, { chainId, dataset: HOLDERS, figures })
}
