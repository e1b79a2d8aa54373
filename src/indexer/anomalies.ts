import type { Connection } from '#store/engine.ts'
import { column } from '#store/row.ts'
import { sql } from '#store/sql.ts'

export interface Anomalies {
  readonly chainId: number
  readonly dataset: string
  readonly reason: string
  readonly logs: number
  readonly lastBlock: number
}

/** A contract can cause any number. */
const REASONS_MAX = 100

/** A wrong mapping leaves millions. */
const LOGS_MAX = 10_000

export async function readAnomalies(connection: Connection): Promise<readonly Anomalies[]> {
  const found = await connection.run(sql`
    select chain_id, dataset, reason, count(*) as logs, max(block_number) as last_block
    from (
      select chain_id, dataset, reason, block_number from anomalies
      order by chain_id desc, block_number desc limit ${LOGS_MAX}
    ) as newest group by chain_id, dataset, reason
    order by logs desc, chain_id, dataset, reason limit ${REASONS_MAX}`)
  return found.map((row) => ({
    chainId: column.integer(row, 'chain_id'),
    dataset: column.text(row, 'dataset'),
    reason: column.text(row, 'reason'),
    logs: column.integer(row, 'logs'),
    lastBlock: column.integer(row, 'last_block'),
  }))
}
