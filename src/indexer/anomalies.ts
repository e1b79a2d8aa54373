import type { Connection } from '#store/engine.ts'
import { column } from '#store/row.ts'
import { sql } from '#store/sql.ts'

/** Logs of a dataset and a chain that could not be read for one reason. */
export interface Anomalies {
  readonly chainId: number
  readonly dataset: string
  readonly reason: string
  /** Of the newest of each chain, `LOGS_MAX` in all. */
  readonly logs: number
  readonly lastBlock: number
}

/** Reasons that are told apart; a contract can make up any number of them. */
const REASONS_MAX = 100

/** A mapping that fits no log of a busy contract leaves millions; these are counted in a moment. */
const LOGS_MAX = 10_000

/** Every reason why logs could not be read, the most frequent first. */
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
