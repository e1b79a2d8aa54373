import type { Connection, Migration } from '#store/engine.ts'
import { column } from '#store/row.ts'
import { sql } from '#store/sql.ts'

/**
 * How often each chain was removed from the register to be read anew. What was read of it the time
 * before may have been wrong, so nothing that was known of that time may be shown as this one's.
 */
export const forgottenChainsMigration: Migration = {
  id: 1020,
  name: 'chains that were forgotten',
  sql: `
    create table forgotten_chains (
      chain_id bigint primary key,
      times bigint not null
    )`,
}

/** Chains that were removed in whole or part, or that joined an existing register. */
export async function readForgotten(connection: Connection): Promise<ReadonlySet<number>> {
  const found = await connection.run(sql`select chain_id from forgotten_chains`)
  return new Set(found.map((row) => column.integer(row, 'chain_id')))
}

/** Notes that a chain is removed; part of the very transaction that removes it. */
export async function noteForgotten(connection: Connection, chainId: number): Promise<void> {
  await connection.run(sql`
    insert into forgotten_chains (chain_id, times) values (${chainId}, 1)
    on conflict (chain_id) do update set times = forgotten_chains.times + 1`)
}
