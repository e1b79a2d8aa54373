import type { Chain } from '#ecosystem/ecosystem.ts'
import type { Connection, Migration } from '#store/engine.ts'
import { column } from '#store/row.ts'
import { sql } from '#store/sql.ts'

export const unexplainedMigration: Migration = {
  id: 85,
  name: 'histories that do not add up',
  sql: `
    create table unexplained_histories (
      chain_id bigint primary key,
      reason text not null
    )`,
}

/** Notes why the history of a chain cannot be completed, for processes that do not index. */
export async function noteUnexplained(
  connection: Connection,
  chainId: number,
  reason: string,
): Promise<void> {
  await connection.run(sql`
    insert into unexplained_histories (chain_id, reason) values (${chainId}, ${reason})
    on conflict (chain_id) do update set reason = excluded.reason`)
}

export async function clearUnexplained(connection: Connection, chainId: number): Promise<void> {
  await connection.run(sql`delete from unexplained_histories where chain_id = ${chainId}`)
}

/** Why no transfers explain the balances of a chain, by its id. */
export async function readUnexplained(
  connection: Connection,
  chains: readonly Chain[],
): Promise<ReadonlyMap<number, string>> {
  const found = await connection.run(sql`select chain_id, reason from unexplained_histories`)
  const known = found.flatMap((row) => {
    const chainId = column.integer(row, 'chain_id')
    const isFollowed = chains.some(({ id }) => id === chainId)
    return isFollowed ? [[chainId, column.text(row, 'reason')] as const] : []
  })
  return new Map(known)
}
