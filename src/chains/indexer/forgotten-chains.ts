import type { Connection, Tables } from '#store/engine.ts'
import { column } from '#store/row.ts'
import { sql } from '#store/sql.ts'

/** How often each chain was removed, so that older cached answers are not reused. */
export const forgottenChainsTables: Tables = `
    create table forgotten_chains (
      chain_id bigint primary key,
      times bigint not null
    )`

export async function readForgotten(connection: Connection): Promise<ReadonlySet<number>> {
  const found = await connection.run(sql`select chain_id from forgotten_chains`)
  return new Set(found.map((row) => column.integer(row, 'chain_id')))
}

/** Call in the transaction that removes the chain. */
export async function noteForgotten(connection: Connection, chainId: number): Promise<void> {
  await connection.run(sql`
    insert into forgotten_chains (chain_id, times) values (${chainId}, 1)
    on conflict (chain_id) do update set times = forgotten_chains.times + 1`)
}
