import type { Connection } from '#db/engine.ts'
import { column, sql } from '#db/sql.ts'

/** Every stored balance, whatever its sign, in order. */
export async function readStoredBalances(connection: Connection) {
  const rows = await connection.run(sql`
    select token, address, chain_id, balance from balances order by token, chain_id, address`)
  return rows.map((row) => ({
    token: column.text(row, 'token'),
    address: column.text(row, 'address'),
    chainId: column.integer(row, 'chain_id'),
    balance: column.bigint(row, 'balance'),
  }))
}

/** Blocks with logs that could not be read. */
export async function readAnomalyBlocks(connection: Connection) {
  const rows = await connection.run(sql`
    select distinct chain_id, block_number from anomalies
    where kind = 'unreadable' order by chain_id, block_number`)
  return rows.map((row) => ({
    chainId: column.integer(row, 'chain_id'),
    blockNumber: column.integer(row, 'block_number'),
  }))
}
