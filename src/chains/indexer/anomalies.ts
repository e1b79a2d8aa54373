import type { Connection } from '#store/engine.ts'
import { column, type Sql, sql } from '#store/sql.ts'
import type { LogProblem } from './dataset.ts'

export interface Anomalies {
  readonly chainId: number
  readonly dataset: string
  readonly contract: string
  readonly kind: LogProblem['kind']
  readonly reason: string
  readonly logs: number
  readonly lastBlock: number
}

/** A contract can cause any number. */
const REASONS_MAX = 100

/** A wrong mapping leaves millions. */
const LOGS_MAX = 10_000

/** Apart, so that what strangers cause does not hide the rest. */
function newest(kind: LogProblem['kind']): Sql {
  return sql`
    select chain_id, dataset, contract, kind, reason, block_number from anomalies
    where kind = ${kind} order by chain_id desc, block_number desc limit ${LOGS_MAX}`
}

export async function readAnomalies(connection: Connection): Promise<readonly Anomalies[]> {
  const found = await connection.run(sql`
    select chain_id, dataset, contract, kind, reason, count(*) as logs,
      max(block_number) as last_block
    from (
      select * from (${newest('unreadable')}) as unreadable
      union all select * from (${newest('unlisted')}) as unlisted
    ) as newest group by chain_id, dataset, contract, kind, reason
    order by logs desc, chain_id, dataset, contract, reason limit ${REASONS_MAX}`)
  return found.map((row) => ({
    chainId: column.integer(row, 'chain_id'),
    dataset: column.text(row, 'dataset'),
    contract: column.text(row, 'contract'),
    kind: row.kind === 'unlisted' ? 'unlisted' : 'unreadable',
    reason: column.text(row, 'reason'),
    logs: column.integer(row, 'logs'),
    lastBlock: column.integer(row, 'last_block'),
  }))
}
